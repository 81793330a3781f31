"""The files that deploy Veracity parse, agree with each other, and use commands, settings and routes that exist."""

import json
import re
import shlex
import shutil
import subprocess
import threading
import tomllib
from collections.abc import Iterator
from configparser import RawConfigParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import psycopg
import pytest
import typer
import yaml  # type: ignore[import-untyped]
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.postgres import schema_url, shared_url
from veracity.cli.app import app
from veracity.engine import Veracity
from veracity.ledger.jobs import QUEUES, create_tables
from veracity.server import health, metrics, serve
from veracity.settings import SECTIONS, ServerSettings, Settings
from veracity.worker import POOL_CONNECTIONS

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/operate.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
UNITS = ("veracity.service", "veracity-worker@.service")
USER = 10001
PORT = ServerSettings().port
LEDGER_CONNECTIONS = 29  # of each process, as docs/scale.md says
ROUTES = {route.path for router in (health.router, metrics.router) for route in router.routes}  # type: ignore[attr-defined]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def load(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


def require_command(arguments: list[str]) -> dict[str, Any]:
    """The parameters of a `veracity` command line. Raises `click.UsageError` if the command or an option is unknown."""
    command: Any = typer.main.get_command(app)
    name, *rest = arguments
    while rest and rest[0] in getattr(command.commands[name], "commands", {}):
        command, (name, *rest) = command.commands[name], rest
    assert not (rest and hasattr(command.commands[name], "commands")), f"{name} has no command {rest[0]}"
    parameters: dict[str, Any] = command.commands[name].make_context(name, rest).params
    return parameters


def seconds(duration: str) -> float:
    found = re.fullmatch(r"(\d+)(s|m)", duration)
    assert found, duration
    return int(found[1]) * {"s": 1, "m": 60}[found[2]]


def grace_of(settings: dict[str, Any]) -> float:
    """How long a process with these settings may take to stop."""
    uvicorn_seconds = 3
    return Settings.model_validate(settings).server.grace + serve.SHUTDOWN_SECONDS + uvicorn_seconds


COMPOSE = load("compose.yaml")
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "veracity"}
MANIFESTS: list[Any] = [
    manifest
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]
WORKLOADS = [manifest for manifest in MANIFESTS if manifest["kind"] == "Deployment"]
SETTINGS = {
    "compose": (DEPLOY / "veracity.toml").read_text(encoding="utf-8"),
    "kubernetes": next(it["data"]["veracity.toml"] for it in MANIFESTS if it["kind"] == "ConfigMap"),
}


def unit(name: str) -> RawConfigParser:
    parser = RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / name, encoding="utf-8")
    return parser


def containers() -> Iterator[tuple[str, Any, Any]]:
    for workload in WORKLOADS:
        pod = workload["spec"]["template"]["spec"]
        for container in pod["containers"]:
            yield container["name"], pod, container


# Settings and commands


@pytest.mark.parametrize("place", SETTINGS)
def test_the_settings_are_valid(place: str) -> None:
    settings = tomllib.loads(SETTINGS[place])
    assert set(settings) <= set(SECTIONS)
    Settings.model_validate(settings).store.require_shared_ledger()


def command_lines() -> dict[str, list[str]]:
    found = {name: service["command"] for name, service in OURS.items()}
    found |= {f"kubernetes {name}": container["args"] for name, _, container in containers()}
    for name in UNITS:
        program, *arguments = shlex.split(unit(name)["Service"]["ExecStart"])
        assert Path(program).name in PROJECT["scripts"]
        found[name] = ["--no-work" if argument == "$SERVE_OPTIONS" else argument for argument in arguments]
    found["Containerfile"] = json.loads(re.findall(r"^CMD (\[.*\])$", CONTAINERFILE, re.M)[-1])
    for line in re.findall(r"^(?:docker compose run --rm server-1|veracity) (.*)", PAGE, re.M):
        found[f"operate.md: {line}"] = shlex.split(line, comments=True)
    return found


@pytest.mark.parametrize("arguments", command_lines().values(), ids=command_lines())
def test_the_commands_exist_with_their_options(arguments: list[str]) -> None:
    require_command(arguments)


def test_the_page_mentions_commands_that_exist() -> None:
    commands: Any = typer.main.get_command(app)
    mentioned = set(re.findall(r"`(?:docker compose run --rm server-1|veracity) ([a-z-]+)", PAGE))
    assert mentioned - set(commands.commands) == set()


def test_servers_behind_the_proxy_listen_for_others_and_leave_questions_to_workers() -> None:
    servers = [service["command"] for service in OURS.values() if service["command"][0] == "serve"]
    servers += [container["args"] for _, _, container in containers() if container["args"][0] == "serve"]
    assert len(servers) == 3
    for command in servers:
        parameters = require_command(command)
        assert (parameters["host"], parameters["no_work"]) == ("0.0.0.0", True)
        assert parameters["workspace"] == Path("/workspace")


def test_the_environment_variables_are_settings() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DEPLOY.rglob("*") if path.is_file()) + CONTAINERFILE
    for name in set(re.findall(r"\bVERACITY_\w+", text)) - {"VERACITY_TOKEN"}:
        section, key = name.removeprefix("VERACITY_").lower().split("__")
        assert key in Settings.model_fields[section].annotation.model_fields  # type: ignore[union-attr]


def test_no_file_holds_a_password_or_a_key() -> None:
    for path in (DEPLOY / "env").glob("*.example"):
        for name, value in re.findall(r"^(\w+)=(.*)$", path.read_text(encoding="utf-8"), re.M):
            assert not value or name == "AWS_REGION"
    assert "*.env" in (DEPLOY / ".gitignore").read_text(encoding="utf-8").split()
    given = [name for service in SERVICES.values() for name in service.get("environment", {})]
    given += [variable["name"] for _, _, container in containers() for variable in container.get("env", [])]
    assert [name for name in given if re.search("PASSWORD|KEY|SECRET|TOKEN", name)] == []
    assert not any(manifest["kind"] == "Secret" for manifest in MANIFESTS)


# The image


def test_the_image_installs_extras_that_exist_with_the_constraints() -> None:
    extras = set(re.findall(r"extras\['(\w+)'\]", CONTAINERFILE))
    (installed,) = re.findall(r"\$wheel\[([\w,]+)\]", CONTAINERFILE)
    assert extras == set(installed.split(",")) == {"cluster", "mcp"}
    assert extras <= set(PROJECT["optional-dependencies"])
    assert all("-c " in line for line in re.findall(r"pip install .*", CONTAINERFILE))


def test_the_image_copies_only_what_containerignore_allows() -> None:
    lines = (ROOT / ".containerignore").read_text(encoding="utf-8").split("\n")
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = {name for names in re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.M) for name in names.split()}
    assert "*" in lines
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_runs_as_the_same_user_everywhere() -> None:
    assert re.findall(r"^USER (.*)$", CONTAINERFILE, re.M) == [f"{USER}:{USER}"]
    assert {pod["securityContext"]["runAsUser"] for _, pod, _ in containers()} == {USER}
    assert {pod["securityContext"]["fsGroup"] for _, pod, _ in containers()} == {USER}
    assert re.findall(r"^EXPOSE (\d+)$", CONTAINERFILE, re.M) == [str(PORT)]


def test_the_health_check_of_the_image_fails_with_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = re.findall(r"HEALTHCHECK [^\[]*CMD (\[.*\])$", CONTAINERFILE, re.M)
    python, option, code = json.loads(command)
    assert (python, option) == ("python", "-c")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # must not be used
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        here = code.replace(f"127.0.0.1:{PORT}", f"127.0.0.1:{server.server_port}")
        assert here != code
        exec(here)
        with pytest.raises(OSError, match="503"):
            exec(here.replace("/healthz", "/elsewhere"))
        server.shutdown()
        thread.join()
    with pytest.raises(OSError):
        exec(here)


# Compose


def test_compose_matches_the_schema() -> None:
    schema = json.loads((ROOT / "tests/data/compose-spec.json").read_text(encoding="utf-8"))
    errors = jsonschema.Draft202012Validator(schema).iter_errors(COMPOSE)
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_restricted_and_names_what_exists(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert "/tmp" in service["tmpfs"]
    assert set(service["networks"]) <= set(COMPOSE["networks"])
    for volume in service["volumes"]:
        source, _, *_ = volume.split(":")
        assert (DEPLOY / source).is_file() if source.startswith(".") else source in COMPOSE["volumes"]
    for file in service.get("env_file", []):
        assert (DEPLOY / f"{file}.example").is_file()
    for needed, how in service.get("depends_on", {}).items():
        assert how == {"condition": "service_healthy"}
        check = SERVICES[needed].get("healthcheck", {"test": needed in OURS})  # that of the image
        assert check.get("test")


def test_the_stores_are_reached_by_no_one_else() -> None:
    assert COMPOSE["networks"]["data"] == {"internal": True}
    for name in ("postgres", "s3"):
        assert SERVICES[name]["networks"] == ["data"]
        assert "ports" not in SERVICES[name]
        assert f"{name}:8333" in SETTINGS["compose"] or f"@{name}/" in SETTINGS["compose"]


def test_postgres_has_enough_connections() -> None:
    of_worker = POOL_CONNECTIONS + len(QUEUES)
    workers = sum(service["command"][0] == "worker" for service in OURS.values())
    needed = len(OURS) * LEDGER_CONNECTIONS + workers * of_worker
    (maximum,) = re.findall(r"max_connections=(\d+)", " ".join(SERVICES["postgres"]["command"]))
    assert needed <= int(maximum) - 10  # a few for backups and administrators


def test_the_proxy_knows_the_servers() -> None:
    caddyfile = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    (upstreams,) = re.findall(r"reverse_proxy (.*) \{", caddyfile)
    servers = [f"{name}:{PORT}" for name, service in OURS.items() if service["command"][0] == "serve"]
    assert upstreams.split() == servers
    assert set(re.findall(r"health_uri (\S+)", caddyfile)) == {"/readyz"} <= ROUTES
    assert re.search(r"health_headers \{\s+Host localhost\s+\}", caddyfile)  # other names are refused
    assert float(re.findall(r"health_timeout (\d+)s", caddyfile)[0]) > health.CHECK_SECONDS
    assert float(re.findall(r"keepalive (\d+)s", caddyfile)[0]) < serve.HEADER_SECONDS
    assert not re.search(
        r"^\s*(flush_interval|response_header_timeout|stream_timeout|response_buffers)", caddyfile, re.M
    )
    assert caddyfile.count("{") == caddyfile.count("}")


# Kubernetes


def test_the_manifests_are_of_known_kinds_and_all_are_applied() -> None:
    kinds = {(manifest["apiVersion"], manifest["kind"]) for manifest in MANIFESTS}
    assert kinds == {
        ("kustomize.config.k8s.io/v1beta1", "Kustomization"),
        ("v1", "Namespace"),
        ("v1", "ConfigMap"),
        ("v1", "Service"),
        ("apps/v1", "Deployment"),
        ("policy/v1", "PodDisruptionBudget"),
    }
    listed = set(load("kubernetes/kustomization.yaml")["resources"])
    assert listed == {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")} - {"kustomization.yaml"}
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in MANIFESTS if "metadata" in manifest]
    assert len(names) == len(set(names)) == len(MANIFESTS) - 1


def test_each_selector_selects_the_pods_of_one_workload() -> None:
    pods = {it["metadata"]["name"]: it["spec"]["template"]["metadata"]["labels"] for it in WORKLOADS}

    def selected(labels: dict[str, str]) -> list[str]:
        return [name for name, of_pod in pods.items() if labels.items() <= of_pod.items()]

    for manifest in MANIFESTS:
        if manifest["kind"] == "Service":
            assert selected(manifest["spec"]["selector"]) == ["veracity-server"]
        elif manifest["kind"] in {"Deployment", "PodDisruptionBudget"}:
            assert selected(manifest["spec"]["selector"]["matchLabels"]) == [manifest["metadata"]["name"]]


def test_ports_probes_and_volumes_match() -> None:
    for name, pod, container in containers():
        volumes = {volume["name"] for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
        assert {"/workspace", "/tmp"} <= {mount["mountPath"] for mount in container["volumeMounts"]}
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["envFrom"] == [{"secretRef": {"name": "veracity"}}]
        if name == "server":
            assert [(port["name"], port["containerPort"]) for port in container["ports"]] == [("http", PORT)]
            probes = {kind: container[kind]["httpGet"] for kind in container if kind.endswith("Probe")}
            assert {kind: probe["path"] for kind, probe in probes.items()} == {
                "startupProbe": "/healthz",
                "livenessProbe": "/healthz",
                "readinessProbe": "/readyz",
            }
            assert {probe["path"] for probe in probes.values()} <= ROUTES
            assert {probe["port"] for probe in probes.values()} == {"http"}
            assert container["readinessProbe"]["timeoutSeconds"] > health.CHECK_SECONDS
    (service,) = (manifest for manifest in MANIFESTS if manifest["kind"] == "Service")
    assert [port["targetPort"] for port in service["spec"]["ports"]] == ["http"]


# systemd


@pytest.mark.parametrize("name", UNITS)
def test_units_are_restricted(name: str) -> None:
    service = unit(name)["Service"]
    assert service["ProtectSystem"] == "strict"
    assert service["NoNewPrivileges"] == "yes"
    assert f"/var/lib/{service['StateDirectory']}" in service["ExecStart"]
    assert (service["KillSignal"], service["KillMode"]) == ("SIGTERM", "mixed")
    assert service["EnvironmentFile"].startswith("-/etc/veracity/")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for name in UNITS:
        text = (DEPLOY / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("/opt/veracity/bin/veracity", "/bin/true"), encoding="utf-8")
    command = ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    mentioned = [line for line in checked.stderr.splitlines() if "veracity" in line]
    assert (checked.returncode, mentioned) == (0, [])


# All of them


def test_processes_have_time_to_stop() -> None:
    grace = grace_of(tomllib.loads(SETTINGS["compose"]))
    assert all(seconds(service["stop_grace_period"]) > grace for service in OURS.values())
    assert all(int(unit(name)["Service"]["TimeoutStopSec"]) > grace_of({}) for name in UNITS)
    grace = grace_of(tomllib.loads(SETTINGS["kubernetes"]))
    for _, pod, container in containers():
        before = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        assert pod["terminationGracePeriodSeconds"] > grace + before


def test_the_page_lists_every_metric() -> None:
    recorded = metrics.Metrics()
    recorded.record_run("completed", 1.0)
    recorded.requests.labels("GET", "/healthz", "200").inc()
    families = text_string_to_metric_families(generate_latest(recorded.registry).decode())
    names = {f"{it.name}_total" if it.type == "counter" else it.name for it in families}
    listed = re.findall(r"^\| `(veracity_\w+)` \|", PAGE, re.M)
    assert sorted(listed) == sorted(name for name in names if not name.endswith("_created"))
    used = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"\bveracity_[a-z_]+", PAGE)}
    assert used == set(listed)


def test_the_queries_of_the_page_run(workspace: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    url = schema_url(shared_url(tmp_path_factory), tmp_path)
    create_tables(url)
    queries = [query for block in re.findall(r"^```sql\n(.*?)^```", PAGE, re.M | re.S) for query in block.splitlines()]
    with Veracity(workspace, settings=Settings.model_validate({"store": {"ledger": url}})) as engine:
        engine.membership.join("server", engine.configuration)
        with psycopg.connect(url) as connection:
            rows = [connection.execute(query.encode()).fetchall() for query in queries]
        assert rows == [[("server", engine.configuration, 1)], [], []]
