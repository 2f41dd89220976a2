# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests of TLS, made anew with openssl."""

import subprocess

import pytest

from receiver import tls_context


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    """A folder with two CAs, ca and other, and certificates that the first has signed: server, client, expired."""
    folder = tmp_path_factory.mktemp("ca")
    for name in ("ca", "other"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=our " + name,
                "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", folder / (name + ".key"),
                "-out", folder / (name + ".pem"))
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    (folder / "index").write_text("")
    (folder / "ca.cnf").write_text("[ca]\ndefault_ca=us\n[us]\ndatabase=%s\nnew_certs_dir=%s\nrand_serial=yes\n"
                                   "default_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n"
                                   % (folder / "index", folder))
    for name, start, end in (("server", "20200101000000Z", "20900101000000Z"),
                             ("client", "20200101000000Z", "20900101000000Z"),
                             ("expired", "20200101000000Z", "20210101000000Z")):
        openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name,
                "-keyout", folder / (name + ".key"), "-out", folder / (name + ".csr"))
        openssl("ca", "-batch", "-config", folder / "ca.cnf", "-cert", folder / "ca.pem", "-keyfile", folder / "ca.key",
                "-startdate", start, "-enddate", end, "-extfile", folder / "san",
                "-in", folder / (name + ".csr"), "-out", folder / (name + ".pem"))
    return folder


def context_of(tls, name):
    return tls_context(tls / (name + ".pem"), tls / (name + ".key"))
