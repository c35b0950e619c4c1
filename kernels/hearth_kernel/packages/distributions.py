"""Modules that have another name than the distribution that they come from.

Only those whose distribution has wheels for Linux in PyPI: what is there as
source alone cannot be added to a session.
"""

from __future__ import annotations

# By the module's name, or its path where many distributions share the first
# part; the values are normalised.
DISTRIBUTIONS = {
    "attr": "attrs",
    "Bio": "biopython",
    "bs4": "beautifulsoup4",
    "cpuinfo": "py-cpuinfo",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "discord": "discord-py",
    "dns": "dnspython",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "pymupdf",
    "git": "gitpython",
    "github": "pygithub",
    "google.protobuf": "protobuf",
    "grpc": "grpcio",
    "imblearn": "imbalanced-learn",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "kafka": "kafka-python",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "multipart": "python-multipart",
    "nacl": "pynacl",
    "OpenSSL": "pyopenssl",
    "pdfminer": "pdfminer-six",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pylab": "matplotlib",
    "pywt": "pywavelets",
    "rest_framework": "djangorestframework",
    "ruamel": "ruamel-yaml",
    "serial": "pyserial",
    "shapefile": "pyshp",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "skopt": "scikit-optimize",
    "sksurv": "scikit-survival",
    "slugify": "python-slugify",
    "socks": "pysocks",
    "tabula": "tabula-py",
    "telegram": "python-telegram-bot",
    "umap": "umap-learn",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "Xlib": "python-xlib",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
