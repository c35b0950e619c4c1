"""A URL, read strictly and written in one way.

A sandbox's client, the proxy and the cache have to mean the same host by it. So
what browsers would repair, as `http:/host` or `127.1`, is refused here.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin

from hearth_downloads.core.addresses import PORTS, parse_address
from hearth_downloads.core.faults import Invalid

URL_MAX = 2000  # bytes
SHOWN_MAX = 200  # letters of a URL in a sentence
REDIRECTS_MAX = 5
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^#]*)(?:#.*)?")
_PLACE = re.compile(
    r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@\\]+))(?::([0-9]{1,5}))?"
)
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
# A last label by which the C library reads a name as an address (inet_aton).
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# The scheme and slashes before an authority, however they are written.
_LEAD = re.compile(r"\s*(?:(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]+)?")
_AUTHORITY = re.compile(r"[^/?#]*")
_SAFE = "/?%:@!$&'()*+,;=-._~"
_HASH = re.compile(r"[0-9a-f]{64}")


def is_name(host: str) -> bool:
    """Return true for a name of a host in lower case, false for an address."""
    last = host.rpartition(".")[2]
    return (
        len(host) <= 253
        and _NAME.fullmatch(host) is not None
        and not _NUMBER.fullmatch(last)
    )


def normalise_host(text: str) -> str:
    """Return a name of ASCII or an address in its one form; "" for neither."""
    address = parse_address(text) if "%" not in text else None
    if address is not None:
        return str(address)
    host = text.lower()
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return ""
    host = host[:-1] if host.endswith(".") else host
    return host if is_name(host) else ""


def split_place(text: str) -> tuple[str, int]:
    """Return host and port of HOST or HOST:PORT; ("", 0) if it is neither.

    The port is -1 if there is none.
    """
    found = _PLACE.fullmatch(text)
    if not found:
        return "", 0
    host = normalise_host(found[1] or found[2])
    port = int(found[3]) if found[3] else -1
    is_bracketed = found[1] is not None
    if not host or is_bracketed != (":" in host) or port == 0 or port > 65535:
        return "", 0
    return host, port


def write_place(scheme: str, host: str, port: int) -> str:
    """Return HOST, or HOST:PORT where it is not the scheme's own port."""
    shown = f"[{host}]" if ":" in host else host
    return shown if port == PORTS[scheme] else f"{shown}:{port}"


def show_url(text: str) -> str:
    """Return any text as a URL for people, without what may be a secret.

    Secrets are a query, a fragment, a user and a password. The text need not
    be a URL that can be read: then less of it is shown.
    """
    lead = _match(_LEAD, text)
    authority = _match(_AUTHORITY, text[len(lead) :])
    rest = text[len(lead) + len(authority) :]
    _, at, host = authority.rpartition("@")
    # An @ later on may end a password that has the letter / or ? or #.
    is_clear = not at and rest[:1] == "/" and split_place(host)[0]
    if "@" in rest and not is_clear:
        return f"{lead.strip()}…"
    shown = lead.strip() + host + re.split("[?#]", rest, maxsplit=1)[0]
    return shown if len(shown) <= SHOWN_MAX else f"{shown[:SHOWN_MAX]}…"


def _match(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.match(text)
    return found[0] if found else ""


class TooLong(Invalid):
    """A URL with more than URL_MAX bytes."""


@dataclass(frozen=True)
class Url:
    """A URL with http or https; the host is a name of ASCII or an address."""

    scheme: str
    host: str
    port: int
    target: str  # path and query

    @property
    def place(self) -> str:
        """Return the host, with the port unless it is the scheme's own."""
        return write_place(self.scheme, self.host, self.port)

    @property
    def text(self) -> str:
        """Return the URL in its one form."""
        return f"{self.scheme}://{self.place}{self.target}"

    @property
    def source(self) -> str:
        """Return the URL without its query, which may change each time."""
        return self.text.partition("?")[0]

    @property
    def shown(self) -> str:
        """Return the URL for people: a query may have a key."""
        return show_url(self.text)

    @property
    def key(self) -> str:
        """Return the name of the URL in the cache."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def join(self, location: str) -> Url:
        """Return where a redirect from here leads."""
        return parse_url(urljoin(self.text, location))


def parse_url(text: str) -> Url:
    """Return the URL; Invalid says what would be right."""
    if len(text.encode("utf-8", "surrogatepass")) > URL_MAX:
        raise TooLong(
            f"the URL has more than {URL_MAX} bytes, which is the most"
        )
    if any(letter < " " or "\x7f" <= letter <= "\x9f" for letter in text):
        raise Invalid("the URL has a control character: write it as %XX")
    found = _URL.fullmatch(text)
    if not found or found[1].lower() not in PORTS:
        raise Invalid(
            f"{show_url(text)!r} is no URL that can be fetched: it has to "
            "begin with https:// or http:// and a host"
        )
    scheme = found[1].lower()
    if "@" in found[2]:
        raise Invalid(
            "the URL has a user or a password, which are not sent: leave out "
            "what is before the @"
        )
    host, port = split_place(found[2])
    if not host:
        raise Invalid(
            f"the URL {show_url(text)!r} has no host that can be read: write "
            "a name as data.example, an address as 192.0.2.1 or [2001:db8::1], "
            "and a port from 1 to 65535 after a colon"
        )
    try:
        target = quote(found[3], safe=_SAFE)
    except UnicodeError:
        raise Invalid("the URL has letters that are no Unicode") from None
    if not target.startswith("/"):
        target = f"/{target}"
    return Url(scheme, host, PORTS[scheme] if port < 0 else port, target)


def parse_hash(text: str) -> str:
    """Return the SHA-256 in hex, "" if there is none."""
    if text and not _HASH.fullmatch(text):
        raise Invalid(
            f"{text[:80]!r} is no SHA-256: write its 64 hexadecimal digits in "
            "lower case"
        )
    return text
