"""Suggests the package that was perhaps meant by a name that cannot be added.

The index does not have it, or only its source: PyPI has some names of modules
and misspelled names as sources that do nothing but refuse to be built.

Only names of the lists below, of the profile and of the session are suggested:
an index could lead to a name of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Callable, Optional

from hearth_kernel.packages.distributions import DISTRIBUTIONS
from hearth_kernel.packages.names import normalise

from hearth_downloads.packages.profile import OWN, find_module

SHORT = 6  # a name with fewer letters may differ by one edit, others by two
SHORTEST = 3

# Much used packages of PyPI, in no order that counts.
_POPULAR = """
aiobotocore aiofiles aiohttp aiosignal alembic altair annotated-types
anthropic anyio appdirs argcomplete arrow asgiref asn1crypto astropy
async-timeout asyncpg attrs azure-core babel backoff bcrypt beautifulsoup4
biopython black bleach bokeh boto3 botocore bottleneck cachetools catboost
celery certifi cffi chardet charset-normalizer click cloudpickle colorama
contourpy coverage cryptography cvxpy cycler cython dash dask databricks-sdk
datasets decorator defusedxml dill distlib django dnspython docker docutils
duckdb elasticsearch et-xmlfile exceptiongroup execnet faker fastapi
fastavro filelock flask folium fonttools frozenlist fsspec gensim geopandas
gitpython google-api-core google-auth graphviz greenlet grpcio gunicorn h11
h5py hatchling httpcore httplib2 httpx huggingface-hub humanize hypothesis
idna imageio importlib-metadata importlib-resources iniconfig ipykernel
ipython isodate isort jedi jinja2 jmespath joblib jsonpath-ng jsonschema
jupyter-client jupyterlab keras keyring kiwisolver langchain librosa
lightgbm llvmlite loguru lxml mako markdown markdown-it-py markupsafe
marshmallow matplotlib mistune mlflow more-itertools mpmath msgpack
multidict mypy mypy-extensions nbconvert nbformat networkx nltk numba numpy
oauthlib openai opencv-python openpyxl orjson packaging pandas paramiko
parso patsy pexpect pillow pip platformdirs plotly pluggy polars
prometheus-client prompt-toolkit protobuf psutil psycopg psycopg2-binary
pyarrow pyasn1 pycparser pycryptodome pydantic pydantic-core pygments pyjwt
pylint pymongo pymupdf pymysql pynacl pyopenssl pyparsing pypdf pyproj
pyserial pytest pytest-cov python-dateutil python-docx python-dotenv
python-multipart pytz pyyaml pyzmq rapidfuzz redis referencing regex
reportlab requests requests-oauthlib requests-toolbelt rich rpds-py rsa ruff
s3fs s3transfer scikit-image scikit-learn scipy scrapy seaborn selenium
sentencepiece setuptools shapely six sniffio snowflake-connector-python
sortedcontainers soupsieve spacy sqlalchemy sqlparse starlette statsmodels
sympy tabulate tenacity tensorboard tensorflow termcolor threadpoolctl
tiktoken tokenizers tomli tomlkit toolz torch torchvision tornado tqdm
traitlets transformers trio typer typing-extensions tzdata tzlocal ujson
urllib3 uvicorn virtualenv watchdog wcwidth websocket-client websockets
werkzeug wheel wrapt xarray xgboost xlrd xlsxwriter yarl zipp zstandard
"""
POPULAR = tuple(_POPULAR.split())

_SPELLING = {normalise(module): module for module in DISTRIBUTIONS}


def advise(
    name: str,
    profile: Collection[str],
    session: Collection[str],
    permits: Callable[[str], bool],
) -> str:
    """Return what to do instead, or nothing.

    All names are normalised. `permits` has the operator's lists.
    """
    return _advise_module(name, profile, permits) or _advise_near(
        name, profile, session, permits
    )


def _advise_module(
    name: str, profile: Collection[str], permits: Callable[[str], bool]
) -> str:
    module = _SPELLING.get(name, name.replace("-", "_"))
    if module in OWN:
        return (
            f"{module} is a name of hearth's own modules, which no package may "
            "have"
        )
    package = DISTRIBUTIONS.get(module)
    if package is not None and package in profile:
        return (
            f"`{module}` is the module of {package}, which the profile has: "
            "import it"
        )
    if find_module(module) is not None:
        return f"the profile's Python has the module `{module}`: import it"
    if package is not None and permits(package):
        return f"`{module}` is the module of {package}: ask for {package}"
    return ""


def _advise_near(
    name: str,
    profile: Collection[str],
    session: Collection[str],
    permits: Callable[[str], bool],
) -> str:
    near = find_near(name, [*profile, *session, *filter(permits, POPULAR)])
    if near is None or near == name:
        return ""
    for names, whose in ((profile, "profile's Python"), (session, "session")):
        if near in names:
            return f"did you mean {near}, which the {whose} has?"
    return f"did you mean {near}?"


def find_near(name: str, names: Iterable[str]) -> Optional[str]:
    """Return the nearest of the names, the first of several; None: none is."""
    if len(name) < SHORTEST:
        return None
    best, found = (2 if len(name) < SHORT else 3), None
    for other in names:
        if abs(len(other) - len(name)) > 2:
            continue
        edits = count_edits(name, other)
        if name.replace("-", "") == other.replace("-", ""):
            edits = 0
        if edits < best:
            best, found = edits, other
    return found


def count_edits(one: str, other: str) -> int:
    """Return how many letters are too many, missing, others, or swapped."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            least = min(
                above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted)
            )
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before = above
    return row[-1]
