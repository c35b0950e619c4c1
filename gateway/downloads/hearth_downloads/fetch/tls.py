"""Certificates by which a client in the sandbox knows servers with https."""

from __future__ import annotations

import ssl
from typing import Optional

from hearth_downloads.core.certificates import find_certificates
from hearth_downloads.fetch.job import Job
from hearth_downloads.fetch.sentences import no_authorities

_IGNORE_UNEXPECTED_EOF = getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 1 << 7)


def make_context(job: Job) -> tuple[Optional[ssl.SSLContext], str]:
    """Return what knows servers, and reads no file after that.

    None and a sentence if there is none: a file that is wrong is a fault only
    if https is asked for.
    """
    path = job.ca_file or find_certificates()
    if not path:
        return None, no_authorities()
    try:
        context = ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError) as error:
        return None, no_authorities(path, error.strerror or str(error))
    # An end that TLS does not announce may be another's doing. Python hides
    # it since OpenSSL 3; suppress_ragged_eofs is not enough.
    context.options &= ~_IGNORE_UNEXPECTED_EOF
    return context, ""
