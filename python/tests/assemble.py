"""Makes a wheel from a library that cargo has built already, as `pip wheel ./python` makes one from its own build.

    python assemble.py LIBRARY DIRECTORY

Names and entry points are those of pyproject.toml. So the tests build nothing twice.
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib

HOME = Path(__file__).resolve().parent.parent


def files(name, library):
    project = tomllib.loads((HOME / "pyproject.toml").read_text())
    tool, project = project["tool"]["maturin"], project["project"]
    for package in tool["python-packages"]:
        for path in sorted((HOME / package).rglob("*")):
            if path.is_file() and path.suffix in (".py", ".pyi", ".typed"):
                yield str(path.relative_to(HOME)), path.read_bytes()
    yield tool["module-name"].replace(".", "/") + ".abi3.so", library.read_bytes()
    for path in sorted((HOME / tool["data"]).rglob("*")):
        if path.is_file():
            yield f"{name}.data/{path.relative_to(HOME / tool['data'])}", path.read_bytes()
    needs = "".join(f"Requires-Dist: {n}\n" for n in project["dependencies"])
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {name.split('-')[1]}\n{needs}"
    yield f"{name}.dist-info/METADATA", about.encode()
    yield f"{name}.dist-info/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp39-abi3-" + TAG.encode() + b"\n"
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    points = "".join(f"[{g}]\n" + "".join(f"{k}={v}\n" for k, v in e.items()) for g, e in groups.items())
    yield f"{name}.dist-info/entry_points.txt", points.encode()


def main(library, directory, version):
    name = f"adl-{version}"
    wheel = Path(directory) / f"{name}-cp39-abi3-{TAG}.whl"
    rows = []
    with zipfile.ZipFile(wheel, "w") as out:
        for path, data in files(name, Path(library)):
            out.writestr(path, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(data)}")
        record = f"{name}.dist-info/RECORD"
        out.writestr(record, "\n".join([*rows, f"{record},,"]) + "\n")
    print(wheel)


if __name__ == "__main__":
    import sysconfig

    TAG = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    main(*sys.argv[1:])
