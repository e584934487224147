"""CodeContests: public, private and generated tests, each a pair of lists; all of them on standard input."""

from rlvr.config.registries import AdapterKind
from rlvr.config.schema.models_and_data import Published
from rlvr.data.adapters import Draft, LeftOut, Row
from rlvr.data.adapters._unit_tests import gold, prompt_of

# As in its evaluator (execution/tester_sandboxer.{h,cc}): kind of white space and case do not matter, numbers are equal
# within an absolute 1e-5, and a test has 10 s, since sites set limits for compiled programs.
CHECKER = {"checker": "tokens", "tolerance": 1e-5}
LEAST_SECONDS = 10.0
TESTS = ("public", "private", "generated")
FIELDS = {
    "prompt": "description",
    "public": "public_tests",
    "private": "private_tests",
    "generated": "generated_tests",
    "seconds": "time_limit",
    "memory": "memory_limit_bytes",
    "input_file": "input_file",
    "output_file": "output_file",
}


def adapt(row: Row, spec: Published) -> Draft:
    question = row.text("prompt", "no question")
    if row.maybe_text("input_file") or row.maybe_text("output_file"):
        raise LeftOut("reads or writes a file")
    pairs = [pair for name in TESTS for pair in _pairs(row.mapping(name))]
    memory = (row.number("memory") or 0) / 1e6
    limit = row.mapping("seconds")
    seconds = max(LEAST_SECONDS, (limit.number("seconds") or 0) + (limit.number("nanos") or 0) / 1e9)
    tests_gold, dropped = gold("stdin", pairs, seconds=seconds, memory_mb=memory, checker=CHECKER)
    return Draft(prompt_of(question, "stdin", ""), tests_gold, dropped=dropped)


def _pairs(tests: Row) -> list[tuple[str, str]]:
    inputs, outputs = tests.texts("input"), tests.texts("output")
    if len(inputs) != len(outputs):
        raise LeftOut("inputs and outputs do not match")
    return list(zip(inputs, outputs, strict=True))


ADAPTER = AdapterKind(adapt, FIELDS, optional={"seconds", "memory", "input_file", "output_file"})
