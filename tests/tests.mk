# SPDX-License-Identifier: Apache-2.0
# The test targets, included by the Makefile.

.PHONY: unit
unit: $(UNIT) $(TOOLS) ## build and run the unit tests
	@for t in $(UNIT); do echo "== $$t"; $(RUN) $$t || exit 1; done
