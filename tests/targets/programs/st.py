# SPDX-License-Identifier: Apache-2.0
"""A page of Streamlit."""

import streamlit

streamlit.write("shop")
