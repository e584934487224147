"""`rlvr plan`: what it prints, as text and as JSON, and the mistakes that it names."""

import csv
import json

import pytest
from conftest import ROOT, copied
from test_cost import EVALUATIONS, HARDWARE, RUNS
from typer.testing import CliRunner, Result

from rlvr.commands import app
from rlvr.config.plan import asked_for
from rlvr.planning.expansion import make_plan


def rlvr(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["plan", *arguments])


def planned(*arguments: str) -> dict:
    done = rlvr(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ace_planned():
    return planned("ace")


def test_the_plan_of_ace_names_all_that_it_should(ace_planned):
    done = rlvr("ace")
    assert done.exit_code == 0, done.stderr
    for name in asked_for(make_plan(ROOT, "paper", ["ace"]), "ace"):
        assert f"ace/{name} " in done.stdout
    for name in type(HARDWARE.assumptions).model_fields:
        assert f"\n{name} " in done.stdout
    assert f"{RUNS}, 0, {EVALUATIONS}" in done.stdout
    for words in ("GPU-hours", "makespan", "idle share", "longest chain", "disk", "not measurements"):
        assert words in done.stdout
    assert f"{RUNS} runs ask for more than one GPU" in done.stdout
    total = ace_planned["total"]
    assert sum(row["gpu_hours"] for row in ace_planned["jobs"]) == pytest.approx(total["gpu_hours"])
    assert sum(row["jobs"] for row in ace_planned["jobs"] if row["kind"] == "run") == total["runs"] == RUNS
    assert {row["device"] for row in ace_planned["devices"]} == {"h100", "h200", "a100", "l40s"}
    assert [row["hours"] for row in ace_planned["longest_chain"]] and total["price"] is None


def test_one_table_alone(ace_planned, tmp_path):
    file = tmp_path / "order.csv"
    alone = planned("ace", "--table", "table4", "--price", "2.5", "--order", str(file))
    assert [row["item"] for row in alone["items"]] == ["table4"]
    of_all = next(row for row in ace_planned["items"] if row["item"] == "table4")
    assert alone["total"]["gpu_hours"] == pytest.approx(of_all["alone_gpu_hours"])
    assert alone["total"]["price"] == pytest.approx(2.5 * alone["total"]["gpu_hours"])
    rows = list(csv.DictReader(file.open()))
    assert len(rows) == 30 + 4 * 30 and {row["first_for"] for row in rows} == {"ace/table4"}
    starts = [float(row["start_hours"]) for row in rows]
    assert starts == sorted(starts) and rows[0]["kind"] == "run"


def test_a_closed_form_has_no_runs():
    assert "no runs" in rlvr("fade", "--table", "table1").stdout
    assert planned("fade", "--table", "table1")["total"]["gpu_hours"] == 0


@pytest.mark.parametrize("scale", ["smoke", "laptop", "full-laptop"])
def test_small_scales_are_planned_on_cores(scale):
    file = "config/scale/smoke.yaml" if scale == "smoke" else "config/scale/laptop.yaml"
    done = rlvr("ace", "--scale", scale)
    assert done.exit_code == 0 and "GPU" not in done.stdout, done.stderr
    assert f"at scale {scale} on 1 x 2 cores: core of a server processor" in done.stdout
    assert f"\nDevice: cpu-core, 1 node, 2 cores a node from {file}: hardware.\n" in done.stdout
    for words in ("core-hours", "core-hours, all", "core-hours alone", "idle share of the cores", "1 core  sft: "):
        assert words in done.stdout
    assert planned("ace", "--scale", scale)["devices"] == []


def test_a_scale_names_its_device_and_options_replace_parts_of_it():
    def device(*arguments: str) -> tuple[str, int, int]:
        made = planned("ace", "--table", "core", *arguments)
        return made["device"]["name"], made["nodes"], made["gpus_per_node"]

    assert device() == ("h100", 4, 8)
    assert device("--scale", "gpu") == ("h100", 1, 1)
    assert device("--scale", "laptop", "--nodes", "3") == ("cpu-core", 3, 2)
    assert device("--nodes", "2", "--gpu", "h200", "--gpus-per-node", "4") == ("h200", 2, 4)
    text = rlvr("ace", "--table", "core", "--scale", "laptop", "--device", "h100").stdout
    assert "Device: h100 from --device; 1 node, 2 GPUs a node from config/scale/laptop.yaml: hardware." in text
    assert "GPU-hours" in text and "core-hours" not in text
    where = "4 nodes from config/scale/paper.yaml: hardware; 8 GPUs a node from config/hardware.yaml."
    assert f"Device: h100, {where}" in rlvr("ace", "--table", "core").stdout


def test_a_scale_without_a_device_has_the_default(tmp_path):
    path = copied(tmp_path, "config") / "config/scale/gpu.yaml"
    path.write_text("".join(line for line in path.open() if not line.startswith("hardware:")))
    asked = ("ace", "--scale", "gpu", "--table", "core", "--config-folder", str(tmp_path / "config"))
    text = rlvr(*asked).stdout
    assert "Device: h100, 4 nodes from the default; 8 GPUs a node from config/hardware.yaml." in text
    path.write_text(path.read_text() + "hardware: {device: h1000}\n")
    unknown = "hardware.device: unknown device of config/hardware.yaml 'h1000'; did you mean 'h100'?"
    assert f"config/scale/gpu.yaml: {unknown}" in rlvr(*asked).stderr


def test_cores_that_do_not_suffice_are_called_cores():
    done = rlvr("ace", "--table", "table4", "--device", "cpu-core", "--nodes", "1", "--gpus-per-run", "4")
    assert done.exit_code == 2 and "cores; there are 1 x 2" in done.stderr and "GPU" not in done.stderr


def test_more_gpus_a_run_are_faster_and_no_cheaper(ace_planned):
    more = planned("ace", "--gpus-per-run", "16")
    runs = [[r for r in made["jobs"] if r["kind"] == "run"] for made in (ace_planned, more)]
    assert {row["gpus"] for row in runs[1]} == {16}
    assert max(row["hours"] for row in runs[1]) < max(row["hours"] for row in runs[0])
    assert more["total"]["gpu_hours"] >= ace_planned["total"]["gpu_hours"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("acee",), "config/papers/acee/paper.yaml: no such file; did you mean 'ace'?"),
        (("ace", "--scale", "papr"), "config/scale/papr.yaml: no such file; did you mean 'paper'?"),
        (("ace", "--gpu", "h10"), "--device: unknown device 'h10'; did you mean 'h100'?"),
        (("ace", "--table", "tabel4"), "--table: unknown table or figure 'tabel4'; did you mean 'table4'?"),
        (("ace", "fade", "--table", "table1"), "'table1' is in ace, fade; say PAPER/table1"),
        (("ace", "--nodes", "1", "--gpus-per-node", "2"), "needs 8 GPUs; there are 1 x 2"),
        (("ace", "--measured", "no.yaml"), "no.yaml: no such file"),
        (("ace", "--order", "/dev/null/order.csv"), "/dev/null"),
    ],
)
def test_mistakes_are_named_in_one_line(arguments, message):
    done = rlvr(*arguments)
    code = 1 if message == "/dev/null" else 2  # a file that cannot be written is no mistake of the command line
    assert done.exit_code == code and done.stdout == ""
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("decode_batch:", "decode_batchh:", "hardware.yaml: assumptions.decode_batchh: unknown key; did you mean"),
        ("Qwen/Qwen3-8B-Base:", "Qwen/Qwen3-8B-Bas:", "unknown shape of the model 'Qwen/Qwen3-8B-Base'; did you mean"),
        ("job_start: {value: 2.0", "job_begin: {value: 2.0", "unknown assumption 'job_begin'"),
        ("job: rl.native", "job: rl.nativ", "did you mean 'rl.native'?"),
        ("bandwidth: 2.039e12", "bandwidth: -1", "devices.a100.bandwidth: Input should be greater than 0"),
        ("device: cpu-core\n    job", "device: h1000\n    job", "unknown device 'h1000'; did you mean 'h100'"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path, old, new, message):
    path = copied(tmp_path, "config") / "config/hardware.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    done = rlvr("ace", "--config-folder", str(tmp_path / "config"))
    assert done.exit_code == 2 and message in done.stderr, done.stderr


def test_settings_stand_beside_the_papers_sentences():
    done = rlvr("lens", "--settings")
    line = next(line for line in done.stdout.splitlines() if line.startswith("rollout.samples_per_prompt "))
    assert line.split(maxsplit=2)[1] == "16" and "16 completions per question" in line and line.split()[-1] == "equal"
    found = {one["setting"]: one for one in planned("lens", "--settings")["lens"]}
    assert found["loss.aggregation"]["verdict"] == "differs" and "token mean" in found["loss.aggregation"]["deviation"]
    assert "methods: has no stated.yaml" in rlvr("methods", "--settings").stdout
    wrong = rlvr("lens", "--settings", "--price", "2")
    assert wrong.exit_code != 0 and not wrong.stdout
