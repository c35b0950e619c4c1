"""Certificates by which a client in the sandbox knows servers with https."""

from __future__ import annotations

import ssl
from typing import Optional

from hearth_downloads.core.certificates import find_certificates
from hearth_downloads.fetch.job import Job
from hearth_downloads.fetch.sentences import no_authorities


def make_context(job: Job) -> tuple[Optional[ssl.SSLContext], str]:
    """Return what knows servers, and reads no file after that.

    None and a sentence if there is none: a file that is wrong is a fault only
    if https is asked for.
    """
    from hearth_downloads.core import connection

    path = job.ca_file or find_certificates()
    if not path:
        return None, no_authorities()
    try:
        return connection.make_context(path), ""
    except (OSError, ssl.SSLError) as error:
        return None, no_authorities(path, error.strerror or str(error))
