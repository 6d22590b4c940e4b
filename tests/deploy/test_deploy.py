"""The files in `deploy/`: each is parsed, and the commands that they start are started and answer."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from explorer.environment import Environment
from tests import needs, nginx
from tests.serving import ROOT, free_port, is_healthy

DEPLOY = ROOT / "deploy"
ADDRESS = "127.0.0.1:8501"  # at which nginx.conf expects the app


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def service(name: str = "lineage.service") -> configparser.ConfigParser:
    """Return a systemd unit; a key that is there twice is an error."""
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text(name))
    return parser


def docker_instructions() -> dict[str, str]:
    """Return the instructions of the Dockerfile, the last one of each kind."""
    lines = [line for line in text("Dockerfile").replace("\\\n", " ").splitlines() if line and line[0] != "#"]
    return dict(line.split(maxsplit=1) for line in lines)


def example_settings(commented: bool = False) -> dict[str, str]:
    """Return the settings of lineage.env.example, or those that are commented out."""
    found = re.findall(r"^(#?)([A-Z_]+)=(.*)$", text("lineage.env.example"), re.MULTILINE)
    return {name: value for mark, name, value in found if bool(mark) == commented}


@needs.nginx
@pytest.mark.parametrize("kind", ["a longer path", "a host of its own", "several servers"])
def test_nginx_accepts_its_configuration(kind: str, tmp_path: Path) -> None:
    path = "/lineage" if kind == "a host of its own" else "/school/lineage"
    if kind == "several servers":
        site = nginx.site_of_several([8601, 8602, 8603], free_port(), tmp_path, path=path)
    else:
        site = nginx.site(8501, free_port(), tmp_path, path=path)
    if kind == "a host of its own":  # as the head of the file says
        site = re.sub(r"\n *location = .*", "", site).replace("location /lineage/ {", "location / {")
        assert "lineage/" not in "\n".join(line for line in site.splitlines() if line.startswith("    location"))
    file = nginx.write_configuration(tmp_path, site)
    command = [str(nginx.NGINX), "-t", "-p", str(tmp_path), "-c", str(file), "-e", str(tmp_path / "error.log")]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0 and "test is successful" in checked.stderr, checked.stderr


def test_each_of_several_servers_is_named_where_it_must_be() -> None:
    content = text("nginx-several.conf")
    ports = [8501, 8502, 8503]
    for number, port in enumerate(ports, start=1):
        assert f"    server 127.0.0.1:{port} max_fails" in content  # in the group of all
        assert f"upstream lineage_{number} {{ server 127.0.0.1:{port};" in content
        assert f"    {number}       lineage_{number};" in content  # the cookie leads to it
        assert re.search(rf"127\.0\.0\.1:{port}\$\"   'lineage_server={number}; Path=/lineage;", content)
    head = service("lineage@.service")
    assert all(f"lineage@{port}" in text("lineage@.service") for port in ports)
    assert head["Service"]["ExecStart"] == service()["Service"]["ExecStart"].replace("8501", "%i")
    one, several = (dict(service(name)["Service"]) for name in ("lineage.service", "lineage@.service"))
    differing = {key for key in one | several if one.get(key) != several.get(key)}
    assert differing == {"Environment", "WorkingDirectory", "StateDirectory", "ExecStart", "TimeoutStopSec"}


@pytest.mark.parametrize("name", ["lineage.service", "lineage@.service"])
def test_systemd_accepts_the_service(name: str, tmp_path: Path) -> None:
    unit = service(name)
    assert unit.sections() == ["Unit", "Service", "Install"]
    assert unit["Service"]["EnvironmentFile"] == "/etc/lineage.env"
    assert (unit["Service"]["User"], unit["Service"]["Restart"]) == ("lineage", "on-failure")
    if shutil.which("systemd-analyze"):
        file = tmp_path / name.replace("@", "@8501")
        file.write_text(text(name).replace("/opt/lineage/bin/lineage", sys.executable))
        checked = subprocess.run(["systemd-analyze", "verify", str(file)], capture_output=True, text=True)
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_the_settings_exist() -> None:
    fields = Environment.model_fields.items()
    known = {str(field.validation_alias or f"LINEAGE_{name.upper()}") for name, field in fields}
    known.add("STREAMLIT_SERVER_BASE_URL_PATH")
    environment = dict(entry.split("=", 1) for entry in shlex.split(service()["Service"]["Environment"]))
    image = dict(entry.split("=", 1) for entry in shlex.split(docker_instructions()["ENV"]))
    for settings in (example_settings(), example_settings(commented=True), environment, image):
        assert set(settings) - {"HOME"} <= known
    assert example_settings()["LINEAGE_TRUSTED_PROXIES"] == ADDRESS.split(":")[0]
    assert f"location /{example_settings()['STREAMLIT_SERVER_BASE_URL_PATH']}/ {{" in text("nginx.conf")
    assert f"server {ADDRESS};" in text("nginx.conf")
    assert "client_max_body_size 50m;" in text("nginx.conf")
    assert Environment.model_fields["most_upload"].default == 50_000_000


def test_the_image_runs_without_rights_and_keeps_runs_in_a_volume() -> None:
    found = docker_instructions()
    assert (found["USER"], found["VOLUME"]) == ("lineage", "/var/lib/lineage")
    assert "LINEAGE_HOME=/var/lib/lineage" in found["ENV"].split()
    ignored = text("Dockerfile.dockerignore").splitlines()
    assert "*" in ignored and all((ROOT / line[1:]).exists() for line in ignored if line.startswith("!"))


@pytest.mark.parametrize("with_database", [False, True])
def test_compose_names_files_and_volumes_that_exist(with_database: bool) -> None:
    content = text("compose.yaml")
    if with_database:  # as the comments in the file say
        content = re.sub(r"^  # ", "  ", content, flags=re.MULTILINE)
    compose: dict[str, Any] = yaml.safe_load(content)
    services = compose["services"]
    assert set(services) == {"proxy", "app"} | ({"database"} if with_database else set())
    sources = {volume.split(":")[0] for each in services.values() for volume in each["volumes"]}
    files = {source for source in sources if source.startswith("./")}
    assert all((DEPLOY / file).is_file() for file in files - {"./certificate"})  # which is the administrator's
    assert sources - files == set(compose["volumes"])
    app = services["app"]
    assert (DEPLOY / app["build"]["context"] / app["build"]["dockerfile"]).is_file()
    assert (DEPLOY / f"{app['env_file']}.example").is_file()
    assert services["proxy"]["ports"] == ["80:80", "443:443"] and "ports" not in app


def test_the_command_of_the_service_and_of_the_image_starts_and_answers(tmp_path: Path) -> None:
    program, *words = shlex.split(service()["Service"]["ExecStart"])
    assert program.rsplit("/", 1)[-1] == "lineage" and words.count("8501") == 1
    assert words == [word.replace("0.0.0.0", "127.0.0.1") for word in json.loads(docker_instructions()["CMD"])[1:]]
    port, path = str(free_port()), example_settings()["STREAMLIT_SERVER_BASE_URL_PATH"]
    command = [sys.executable, "-m", "explorer", *(port if word == "8501" else word for word in words)]
    environment = os.environ | example_settings() | {"LINEAGE_HOME": str(tmp_path)}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 240
        while not is_healthy(f"http://127.0.0.1:{port}/{path}"):
            assert process.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()
            time.sleep(0.1)
        check = docker_instructions()["HEALTHCHECK"].split("CMD ", 1)[1].replace("8501", port)
        for given, healthy in ((path, True), ("elsewhere", False)):
            environment = os.environ | {"STREAMLIT_SERVER_BASE_URL_PATH": given}
            answer = subprocess.run([sys.executable, *json.loads(check)[1:]], env=environment, capture_output=True)
            assert (answer.returncode == 0) == healthy
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait() in (0, -signal.SIGTERM), "systemd counts both as a clean end"
