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
FILES = sorted(file.name for file in DEPLOY.iterdir() if file.is_file())
ADDRESS = "127.0.0.1:8501"  # at which nginx.conf expects the app
INSTRUCTIONS = {"FROM", "RUN", "WORKDIR", "USER", "ENV", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}
SERVICE_KEYS = {
    *("image", "build", "ports", "volumes", "restart", "depends_on", "network_mode", "env_file", "init", "read_only"),
    *("tmpfs", "cap_drop", "security_opt", "environment"),
}


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


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith("dockerignore")])
def test_each_file_begins_with_five_numbered_lines_of_explanation(name: str) -> None:
    head = text(name).split("\n\n")[0]
    assert re.findall(r"^# (\d)\. ", head, re.MULTILINE) == ["1", "2", "3", "4", "5"]


@needs.nginx
@pytest.mark.parametrize(
    "path", ["/lineage", "/school/lineage", ""], ids=["a path", "a longer one", "a host of its own"]
)
def test_nginx_accepts_its_configuration(path: str, tmp_path: Path) -> None:
    site = nginx.site(8501, free_port(), tmp_path, path=path or "/lineage")
    if not path:  # as the head of the file says
        site = re.sub(r"\n *location = .*", "", site).replace("location /lineage/ {", "location / {")
        assert "lineage/" not in "\n".join(line for line in site.splitlines() if line.startswith("    location"))
    file = nginx.write_configuration(tmp_path, site)
    command = [str(nginx.NGINX), "-t", "-p", str(tmp_path), "-c", str(file), "-e", str(tmp_path / "error.log")]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0 and "test is successful" in checked.stderr, checked.stderr


@needs.nginx
@pytest.mark.parametrize("path", ["/lineage", "/school/lineage"])
def test_nginx_accepts_the_configuration_of_several_servers(path: str, tmp_path: Path) -> None:
    site = nginx.site_of_several([8601, 8602, 8603], free_port(), tmp_path, path=path)
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
    lines = text("Dockerfile").replace("\\\n", " ").splitlines()
    assert {line.split()[0] for line in lines if line and line[0] != "#"} == INSTRUCTIONS
    found = docker_instructions()
    assert (found["USER"], found["VOLUME"]) == ("lineage", "/var/lib/lineage")
    assert "LINEAGE_HOME=/var/lib/lineage" in found["ENV"].split()
    ignored = text("Dockerfile.dockerignore").splitlines()
    for entry in (line[1:] for line in ignored if line.startswith("!")):
        assert (ROOT / entry).exists()
    assert "*" in ignored


@pytest.mark.parametrize("with_database", [False, True])
def test_compose_names_files_and_volumes_that_exist(with_database: bool) -> None:
    content = (
        re.sub(r"^  # ", "  ", text("compose.yaml"), flags=re.MULTILINE) if with_database else text("compose.yaml")
    )
    compose: dict[str, Any] = yaml.safe_load(content)
    services = compose["services"]
    assert set(services) == {"proxy", "app"} | ({"database"} if with_database else set())
    assert all(set(each) <= SERVICE_KEYS for each in services.values())
    named = set()
    for each in services.values():
        for volume in each["volumes"]:
            source = volume.split(":")[0]
            if source == "./certificate":  # the administrator's
                continue
            if source.startswith("./"):
                assert (DEPLOY / source).is_file()
            else:
                named.add(source)
    assert named == set(compose["volumes"])
    app = services["app"]
    assert (DEPLOY / app["build"]["context"] / app["build"]["dockerfile"]).is_file()
    assert (DEPLOY / f"{app['env_file']}.example").is_file()
    assert services["proxy"]["ports"] == ["80:80", "443:443"] and "ports" not in app


@pytest.mark.slow
def test_the_commands_of_the_service_and_of_the_image_start_and_answer(tmp_path: Path) -> None:
    commands = [shlex.split(service()["Service"]["ExecStart"]), json.loads(docker_instructions()["CMD"])]
    started = []
    try:
        for number, (program, *words) in enumerate(commands):
            assert program.rsplit("/", 1)[-1] == "lineage"
            port = str(free_port())
            assert words.count("8501") == 1
            words = [port if word == "8501" else word for word in words]
            settings = example_settings() | {"LINEAGE_HOME": str(tmp_path / str(number))}
            command, environment = [sys.executable, "-m", "explorer", *words], os.environ | settings
            with (tmp_path / f"{number}.log").open("w") as log:
                process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)
            started.append((process, port, settings))
        for number, (process, port, settings) in enumerate(started):
            url = f"http://127.0.0.1:{port}/{settings['STREAMLIT_SERVER_BASE_URL_PATH']}"
            end = time.monotonic() + 120
            while not is_healthy(url):
                log_text = (tmp_path / f"{number}.log").read_text()
                assert process.poll() is None and time.monotonic() < end, f"it did not start: {log_text}"
                time.sleep(0.1)
            check = docker_instructions()["HEALTHCHECK"].split("CMD ", 1)[1].replace("8501", port)
            for path, healthy in ((settings["STREAMLIT_SERVER_BASE_URL_PATH"], True), ("elsewhere", False)):
                environment = os.environ | {"STREAMLIT_SERVER_BASE_URL_PATH": path}
                answer = subprocess.run([sys.executable, *json.loads(check)[1:]], env=environment, capture_output=True)
                assert (answer.returncode == 0) == healthy
    finally:
        for process, _, _ in started:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait() for process, _, _ in started]
    assert {*codes} <= {0, -signal.SIGTERM}, "systemd counts both as a clean end"
