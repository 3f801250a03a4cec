"""Values in a notebook: HTML, registered by the report, and a stepper that needs no widgets."""

import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import testbed
from testbed.campaign.cells import Matrix, UnitResult
from testbed.report.notebook import FORMATS, Stepper
from testbed.report.step_view import Move
from testbed.words.errors import UsageError
from tests.report.chromium import judged
from unwinders import UNWINDERS

VOID = {"br", "meta", "link", "input"}


class _Balance(HTMLParser):
    """Fails where an element is not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def text_of(html: str) -> str:
    parser = _Balance()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return " ".join(" ".join(parser.words).split())


def values() -> dict[type, object]:
    run, _, cells = judged("leaf_call", "arm64", "keystone")
    at = run.at("leaf")
    chain = UNWINDERS["fp_chain"]
    said = chain.unwind(at)
    rows = UNWINDERS["eh_frame"].rows
    assert rows is not None
    found: list[object] = [run, at, run.truth(at), said, testbed.judge(run, at, said, chain)]
    found += [Matrix((UnitResult(cells[0].unit, cells, len(run)),), 1), rows(run.built.image)]
    chain_run, _, _ = judged("tail_chain", "arm64", "clang-O2")
    found.append(testbed.names(chain_run, chain_run.at("last")))
    return {type(value): value for value in found}


def test_every_format_has_an_example() -> None:
    assert set(values()) == set(FORMATS)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Run", ["25 steps", "leaf, steps 11 to 16", "a leaf below two callers"]),
        ("Snapshot", ["step 11", "x29", "0x7ffffffeffd0"]),
        ("CallStack", ["middle+0x10", "0x41003c", "0x410024", "0x7ffffffeffd0"]),
        ("Backtrace", ["main+0x10", "frame record x29", "claims that the last frame is the root"]),
        ("Verdict", ["SKIPPED", "frame 1: 0x410024, not 0x41003c", "leads"]),
        ("NamedBacktrace", ["second [tail call]", "main+0x", "tail_chain.c:"]),
        ("Matrix", ["64.0 %", "100 %", "eh_frame_hdr"]),
        ("RowTable", ["rows of .eh_frame", "x29+16", "c-16"]),
    ],
)
def test_a_value_as_html(kind: str, words: list[str]) -> None:
    value = next(value for value in values().values() if type(value).__name__ == kind)
    text = text_of(FORMATS[type(value)](value))
    assert [word for word in words if word not in text] == []


def test_what_a_program_is_called_cannot_become_markup() -> None:
    program = testbed.assemble("x86_64", "_start:\n mov edi, 0\n mov eax, 60\n syscall\n", name="<script>")
    html = FORMATS[testbed.Run](testbed.run(program))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_values_know_nothing_of_their_formats() -> None:
    assert not any(hasattr(kind, "_repr_html_") for kind in FORMATS)


def test_importing_in_ipython_registers_the_formats() -> None:
    pytest.importorskip("IPython", reason="needs pip install 'unwind-testbed[notebooks]'")
    program = (
        "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance();"
        "s.run_cell('import testbed');"
        "print(s.display_formatter.format(s.ev(\"testbed.run('leaf_call', arch='arm64')\"))[0]['text/html'][:7])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("<style>")


def test_the_stepper_moves_its_slider_and_its_view() -> None:
    widgets = pytest.importorskip("ipywidgets", reason="needs pip install 'unwind-testbed[notebooks]'")
    run, *_ = judged("leaf_call", "arm64", "keystone")
    stepper = testbed.stepper(run, at="leaf", unwinders=[UNWINDERS["fp_chain"]])
    bundle = stepper._repr_mimebundle_()
    assert {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"} <= set(bundle)
    assert "missing" in text_of(bundle["text/html"])
    box = stepper._widget
    slider, buttons, view = box.children[0].children[0], box.children[1].children, box.children[2]
    assert isinstance(view, widgets.HTML)
    slider.value = 13
    assert (stepper.step, "leaf+0x8" in text_of(view.value)) == (13, True)
    by_name = {button.tooltip: button for button in buttons}
    by_name[Move.NEXT_DIFFERENCE.does].click()
    assert stepper.step == 16


def test_without_widgets_the_step_alone_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    run, *_ = judged("leaf_call", "arm64", "keystone")
    bundle = Stepper(run, [UNWINDERS["fp_chain"]], 11)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}


def test_a_matrix_for_notebooks_chooses_by_pattern() -> None:
    matrix = testbed.matrix("leaf_c*", arch="arm64", recipe="keystone", unwinder="eh_*")
    assert {cell.unwinder for cell in matrix.cells} >= {"eh_frame", "eh_frame_hdr"}
    assert {str(cell.unit) for cell in matrix.cells} == {"leaf_call-arm64-keystone"}
    with pytest.raises(UsageError, match="no unit matches"):
        testbed.matrix("nothing")
    with pytest.raises(UsageError, match="no unwinder matches"):
        testbed.matrix("leaf_call", unwinder="nothing")


def test_a_matrix_as_a_data_frame() -> None:
    pytest.importorskip("pandas", reason="needs pip install 'unwind-testbed[notebooks]'")
    matrix = values()[Matrix]
    assert isinstance(matrix, Matrix)
    frame = matrix.to_pandas()
    assert list(frame["unwinder"]) == [cell.unwinder for cell in matrix.cells]
    assert list(frame["lying"]) == [cell.lying for cell in matrix.cells]
    kinds = [name for name in frame.columns if name.startswith("n_")]
    assert (frame[kinds].sum(axis=1) + frame["transition"] == frame["sites"]).all()


def test_what_a_prompt_prints_of_a_value_fits_a_screen() -> None:
    run = testbed.run("recursion", arch="arm64", recipe="clang-O0")
    matrix = testbed.matrix("leaf_call", recipe="keystone")
    deepest = max(range(len(run)), key=lambda step: len(run.truth(step).frames))
    said = UNWINDERS["eh_frame"].unwind(run[deepest])
    assert repr(said).startswith("<Backtrace ") and repr(said).endswith(" (root)>")
    deep = replace(said, frames=said.frames * 200)
    assert repr(deep) == f"<Backtrace of {len(said.frames) * 200:,} frames, root>"
    for value in (run, run[0], run.truth(deepest), said, deep, matrix):
        assert len(repr(value)) < 400 and "\n" not in repr(value)
    assert repr(matrix).startswith(f"<Matrix of 3 units, {len(matrix.cells)} cells: ")
