"""Says how to ask for the package of a module that was not found.

Only a name of the error is repeated that Python's own import has reported. No
method of the error is called: its class may be the session's.
"""

from __future__ import annotations

import os
import re
import sys

from hearth_kernel.errors.room import Reached
from hearth_kernel.packages import added
from hearth_kernel.packages.distributions import DISTRIBUTIONS

_WORKSPACE = "/workspace"
_NAME_MAX = 100  # characters

# Parts of no package: of the standard library of some version or build of
# Python, of Windows alone, or shared by many packages.
# Then those whose package has no wheels for Linux; another has the name "ldap".
_OF_NONE = re.compile(
    "BaseHTTPServer|ConfigParser|Cookie|HTMLParser|Queue|SocketServer|"
    "StringIO|Tkinter|aifc|annotationlib|asynchat|asyncore|audioop|binhex|"
    "bz2|cPickle|cStringIO|cgi|cgitb|chunk|commands|compression|cookielib|"
    "crypt|ctypes|curses|dbm|distutils|dummy_threading|ensurepip|formatter|"
    "google|graphlib|httplib|idlelib|imghdr|imp|lib2to3|lzma|macpath|"
    "mailcap|msilib|msvcrt|nis|nntplib|nt|ossaudiodev|parser|pipes|"
    "readline|smtpd|sndhdr|spwd|sqlite3|ssl|sunau|symbol|telnetlib|tkinter|"
    "tomllib|turtle|turtledemo|urllib2|urlparse|uu|venv|winreg|winsound|"
    "xdrlib|xmlrpclib|zlib|zoneinfo|"
    "MySQLdb|ldap"
)


def _name_of(error: ModuleNotFoundError) -> str:
    """Return the module's name if Python's import has not found it, or ""."""
    if type(error) is not ModuleNotFoundError:
        return ""
    name, texts = error.name, error.args
    if type(name) is not str or len(name) > _NAME_MAX or not name.isascii():
        return ""
    if not all(part.isidentifier() for part in name.split(".")):
        return ""
    if len(texts) != 1 or type(texts[0]) is not str:
        return ""
    return name if texts[0] == f"No module named '{name}'" else ""


def _is_of_none(name: str) -> bool:
    return bool(
        name.startswith(("_", "hearth"))
        or _OF_NONE.fullmatch(name)
        or name in getattr(sys, "stdlib_module_names", ())
        or any(
            os.path.lexists(os.path.join(_WORKSPACE, name + end))
            for end in ("", ".py")
        )
    )


def explain(error: ModuleNotFoundError) -> list[Reached]:
    name = _name_of(error)
    if not name or ("." in name and name not in DISTRIBUTIONS):
        return []
    if _is_of_none(name):
        return []
    package = DISTRIBUTIONS.get(name, name)
    rule = added.find_rule(package)
    if rule:
        how = f", and {package} is not permitted here: {rule}"
    elif added.is_for_cells():
        how = f": `%pip install {package}` asks for it"
    elif added.folder():
        how = f"; a client can add it: `hearth packages add SESSION {package}`"
    else:
        how = ", and packages are installed into the profile's Python, outside"
    return [Reached(f"{name} is not installed{how}")]
