"""The certificates that Java trusts for downloads, for networks behind a signing proxy.

Java keeps its own list of certificates and knows neither SSL_CERT_FILE nor HTTPS_PROXY, which the
rest of the machine uses.
"""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pipelines.disk.atomic import replacing
from pipelines.spark.environment.faults import SetupError
from pipelines.spark.environment.place import Place

PASSWORD = "changeit"  # noqa: S105  Java's own default; the certificates are public


def download_options(place: Place, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the options with which a Java uses this machine's proxy and certificates."""
    options = []
    if bundle := environ.get("SSL_CERT_FILE"):
        store = written(place, Path(bundle))
        options += [
            f"-Djavax.net.ssl.trustStore={store}",
            "-Djavax.net.ssl.trustStoreType=PKCS12",
            f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
        ]
    proxy = urlsplit(environ.get("HTTPS_PROXY") or environ.get("https_proxy") or "")
    if proxy.hostname:
        options += [
            f"-Dhttps.proxyHost={proxy.hostname}",
            f"-Dhttps.proxyPort={proxy.port or 80}",
        ]
    return options


def written(place: Place, bundle: Path) -> Path:
    """Write the certificates of a PEM file as a PKCS12 store, and return where it is."""
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        PKCS12Certificate,
        serialize_java_truststore,
    )
    from cryptography.x509 import load_pem_x509_certificates

    try:
        with warnings.catch_warnings(action="ignore"):  # old roots with odd serial numbers
            found = load_pem_x509_certificates(bundle.read_bytes())
    except (OSError, ValueError) as why:
        raise SetupError(
            f"SSL_CERT_FILE={bundle} cannot be read as certificates ({why}). It should be a PEM "
            "file with those that this machine trusts; or unset it, and Java uses its own."
        ) from why
    named = [PKCS12Certificate(one, f"{n}".encode()) for n, one in enumerate(found)]
    place.made(place.root)
    store = serialize_java_truststore(named, BestAvailableEncryption(PASSWORD.encode()))
    with replacing(place.trust_store) as (passing,):
        passing.write_bytes(store)
    return place.trust_store
