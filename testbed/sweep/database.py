"""What a sweep keeps: an SQLite database of contents, the paths where they lie, and their doubtful entries.

A content that is kept is not swept again: so a sweep that was interrupted goes on where it was. The same holds of
entries that were called, and of packages. What another version of the testbed said is forgotten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from testbed.sweep.model import (
    AskedEntry,
    CalledEntry,
    CauseCount,
    DoubtfulEntry,
    EntryAnswer,
    ExecutedAnswer,
    ExecutedCount,
    ReportedDoubt,
    Sample,
    SweepDifference,
    SweepReport,
    SweptContent,
)
from testbed.words.errors import UsageError
from testbed.words.files import code_of

_TABLES = """
CREATE TABLE IF NOT EXISTS made_by (code TEXT);
CREATE TABLE IF NOT EXISTS packages (asked TEXT PRIMARY KEY, title TEXT);
CREATE TABLE IF NOT EXISTS contents (
    checksum TEXT PRIMARY KEY, arch TEXT, producer TEXT, compiler TEXT, entries INTEGER, instructions INTEGER,
    agreed INTEGER, private INTEGER, seconds REAL, failure TEXT);
CREATE TABLE IF NOT EXISTS files (path TEXT, checksum TEXT, package TEXT, PRIMARY KEY (path, package));
CREATE INDEX IF NOT EXISTS files_of ON files (checksum);
CREATE TABLE IF NOT EXISTS doubts (
    checksum TEXT, section TEXT, first INTEGER, past INTEGER, function TEXT, answer TEXT, cause TEXT, at INTEGER,
    row INTEGER, words TEXT, came INTEGER, is_part INTEGER, at_call INTEGER);
CREATE INDEX IF NOT EXISTS doubts_of ON doubts (checksum);
CREATE TABLE IF NOT EXISTS samples (checksum TEXT, seed INTEGER, share REAL, PRIMARY KEY (checksum, seed, share));
CREATE TABLE IF NOT EXISTS calls (
    checksum TEXT, section TEXT, first INTEGER, answer TEXT, verdict TEXT, severity TEXT, words TEXT, executed INTEGER,
    instructions INTEGER, PRIMARY KEY (checksum, section, first));
"""
_NAMES = ("made_by", "packages", "contents", "files", "doubts", "samples", "calls")
_SUSPECT, _CANNOT_TELL = EntryAnswer.SUSPECT.value, EntryAnswer.CANNOT_TELL.value
_FOUND = ExecutedAnswer.CONFIRMED.value, ExecutedAnswer.CONFIRMED_FORCED.value, ExecutedAnswer.NOTED.value
_AT_CALL = "answer = ? AND at_call"
_SWEPT = "SELECT checksum FROM contents"
_HELD = "checksum IN (SELECT checksum FROM files)"


@contextmanager
def opened(path: Path, *, new: bool) -> Iterator[sqlite3.Connection]:
    """A sweep's database. Raises UsageError where the file is none, or is not there and is not to be made."""
    if not new and not path.is_file():
        raise UsageError(f"{path} is no database of a sweep: testbed sweep DIR --out {path} makes one")
    try:
        with closing(sqlite3.connect(path)) as database:
            if new:
                _begin(database)
            elif not database.execute("SELECT code FROM made_by").fetchall():
                raise UsageError(f"{path} is no database of a sweep")
            yield database
    except sqlite3.DatabaseError as error:
        raise UsageError(f"{path} is no database of a sweep: {error}") from error


def _begin(database: sqlite3.Connection) -> None:
    code = code_of("testbed")
    with database:
        others = "SELECT name FROM sqlite_master WHERE type = 'table'"
        there = {name for (name,) in database.execute(others)}
        if there and "made_by" not in there:
            raise sqlite3.DatabaseError("it has tables of something else")
        if there and database.execute("SELECT code FROM made_by").fetchall() != [(code,)]:
            for name in there.intersection(_NAMES):
                database.execute(f"DROP TABLE {name}")
        database.executescript(_TABLES)
        if not database.execute("SELECT code FROM made_by").fetchall():
            database.execute("INSERT INTO made_by VALUES (?)", (code,))


def keep_path(database: sqlite3.Connection, path: str, checksum: str, package: str = "") -> bool:
    """Keep where a content lies; whether what is said of it is kept, too."""
    with database:
        database.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (path, checksum, package))
    return database.execute("SELECT 1 FROM contents WHERE checksum = ?", (checksum,)).fetchone() is not None


def keep_package(database: sqlite3.Connection, asked: str, title: str) -> None:
    """Keep that all of a package is done."""
    with database:
        database.execute("INSERT OR REPLACE INTO packages VALUES (?, ?)", (asked, title))


def kept_packages(database: sqlite3.Connection) -> frozenset[str]:
    """The packages that are done."""
    return frozenset(asked for (asked,) in database.execute("SELECT asked FROM packages"))


def keep_swept(database: sqlite3.Connection, swept: SweptContent) -> None:
    """Keep what is said of a content: all of it, or nothing."""
    made_by = swept.arch, swept.producer, swept.compiler
    counts = swept.entries, swept.instructions, swept.agreed, swept.private, swept.seconds, swept.failure
    with database:
        for name in ("doubts", "calls", "samples"):
            database.execute(f"DELETE FROM {name} WHERE checksum = ?", (swept.checksum,))
        database.execute(
            "INSERT OR REPLACE INTO contents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (swept.checksum, *made_by, *counts),
        )
        database.executemany(
            "INSERT INTO doubts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_doubt_row(swept.checksum, each) for each in swept.doubts],
        )


def _doubt_row(checksum: str, doubt: DoubtfulEntry) -> tuple[object, ...]:
    place = doubt.section, doubt.start, doubt.end, doubt.function
    said = doubt.answer.value, doubt.cause, doubt.at, doubt.row, doubt.words
    return checksum, *place, *said, doubt.came, doubt.is_part, doubt.at_call


def _call_row(checksum: str, called: CalledEntry) -> tuple[object, ...]:
    said = called.answer.value, called.verdict.value, called.severity, called.words
    return checksum, called.section, called.start, *said, called.executed, called.instructions


def to_call(database: sqlite3.Connection, checksum: str) -> tuple[AskedEntry, ...]:
    """The doubtful entries of a content that were not called yet."""
    rows = database.execute(
        "SELECT section, first, past, answer, at, came, is_part FROM doubts WHERE checksum = ? AND NOT EXISTS "
        "(SELECT 1 FROM calls WHERE (checksum, section, first) = (doubts.checksum, doubts.section, doubts.first)) "
        "ORDER BY section, first",
        (checksum,),
    )
    return tuple(AskedEntry(s, a, b, EntryAnswer(said), at, came, bool(part)) for s, a, b, said, at, came, part in rows)


def is_sampled(database: sqlite3.Connection, sample: Sample) -> bool:
    """Whether a sample of a content's agreeing entries was called."""
    found = database.execute("SELECT 1 FROM samples WHERE (checksum, seed, share) = (?, ?, ?)", _sample(sample))
    return found.fetchone() is not None


def _sample(sample: Sample) -> tuple[str, int, float]:
    return sample.checksum, sample.seed, sample.share


def keep_called(
    database: sqlite3.Connection, checksum: str, called: Iterable[CalledEntry], sample: Sample | None
) -> None:
    """Keep what execution says of entries of a content, all of it or nothing."""
    with database:
        if sample is not None:
            database.execute("INSERT OR IGNORE INTO samples VALUES (?, ?, ?)", _sample(sample))
        database.executemany(
            "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_call_row(checksum, each) for each in called],
        )


def report_of(database: sqlite3.Connection) -> SweepReport:
    """All that is kept of contents that lie somewhere, added up."""
    totals = "total(entries), total(instructions), total(agreed), total(private), total(seconds)"
    counts = database.execute(f"SELECT count(*), {totals} FROM contents WHERE {_HELD}").fetchone()
    contents, entries, instructions, agreed, private = map(int, counts[:5])
    answers = dict(database.execute(f"SELECT answer, count(*) FROM doubts WHERE {_HELD} GROUP BY answer").fetchall())
    failures = database.execute(
        "SELECT path, failure FROM files JOIN contents USING (checksum) WHERE failure <> '' ORDER BY path"
    ).fetchall()
    return SweepReport(
        database.execute("SELECT count(*) FROM files").fetchone()[0],
        database.execute(f"SELECT count(*) FROM files WHERE checksum NOT IN ({_SWEPT})").fetchone()[0],
        contents,
        entries,
        instructions,
        agreed,
        private,
        answers.get(_SUSPECT, 0),
        database.execute(f"SELECT count(*) FROM doubts WHERE {_AT_CALL} AND {_HELD}", (_SUSPECT,)).fetchone()[0],
        answers.get(_CANNOT_TELL, 0),
        counts[5],
        _counted(database, "cause", "doubts"),
        _counted(database, _MADE_BY, "doubts JOIN contents USING (checksum)"),
        _counted(database, "nullif(package, '')", f"doubts JOIN ({_LYING}) USING (checksum)", named_only=True),
        tuple(_executed(database)),
        tuple(_told(database)),
        tuple(failures),
    )


# `.comment` names what made some object of a file, be it the linker's start files: not who wrote a function.
_MADE_BY = (
    "CASE WHEN compiler <> '' THEN compiler WHEN producer <> '' THEN 'a file with objects of ' || producer ELSE '' END"
)
_LYING = "SELECT checksum, min(path) AS path, package FROM files GROUP BY checksum"


def _counted(
    database: sqlite3.Connection, column: str, table: str, *, named_only: bool = False
) -> tuple[CauseCount, ...]:
    """Doubtful entries by a column, the most suspects first."""
    rows = database.execute(
        f"SELECT {column} AS what, total(answer = ?), total({_AT_CALL}), total(answer = ?) FROM {table} WHERE {_HELD} "
        "GROUP BY what ORDER BY 2 DESC, 4 DESC, what",
        (_SUSPECT, _SUSPECT, _CANNOT_TELL),
    ).fetchall()
    rows = [row for row in rows if row[0]] if named_only else rows
    return tuple(CauseCount(name or "not said", *map(int, counts)) for name, *counts in rows)


def _executed(database: sqlite3.Connection) -> Iterator[ExecutedCount]:
    """What execution said, by what the static pass had said."""
    rows = database.execute(f"SELECT answer, verdict, count(*) FROM calls WHERE {_HELD} GROUP BY 1, 2").fetchall()
    for answer in EntryAnswer:
        of = {verdict: number for said, verdict, number in rows if said == answer.value}
        if of:
            yield ExecutedCount(answer.value, sum(of.values()), *(of.get(each.value, 0) for each in ExecutedAnswer))


def _told(database: sqlite3.Connection) -> Iterator[ReportedDoubt]:
    """The suspects, then what else is wrong or a note; with what execution says of each."""
    lying = f"JOIN ({_LYING}) AS lying USING (checksum) JOIN contents USING (checksum)"
    said = "coalesce(verdict, ''), coalesce(severity, ''), coalesce(calls.words, '')"
    where = f"path, package, {_MADE_BY}, first"
    for row in database.execute(
        f"SELECT {where}, function, doubts.answer, cause, doubts.words, {said} FROM doubts {lying} "
        "LEFT JOIN calls USING (checksum, section, first) WHERE doubts.answer = ? OR verdict IN (?, ?, ?) "
        "ORDER BY doubts.answer DESC, cause, path, first",
        (_SUSPECT, *_FOUND),
    ):
        yield ReportedDoubt(*row)
    for row in database.execute(
        f"SELECT {where}, '', answer, 'executed: ' || verdict || ', and the first pass agreed', '', {said} "
        f"FROM calls {lying} WHERE answer = ? AND verdict IN (?, ?, ?) ORDER BY verdict DESC, path, first",
        (EntryAnswer.AGREES.value, *_FOUND),
    ):
        yield ReportedDoubt(*row)


def difference_of(before: SweepReport, now: SweepReport) -> SweepDifference:
    """Two sweeps compared by what their suspects are: in which file, function and class."""

    def by_key(report: SweepReport) -> dict[tuple[str, str, str], ReportedDoubt]:
        return {
            (Path(each.file).name, each.function or f"{each.start:#x}", each.cause): each
            for each in report.suspects
            if each.answer == _SUSPECT
        }

    first, second = by_key(before), by_key(now)
    counts = [{each.name: each.suspect for each in report.causes} for report in (before, now)]
    names = sorted(counts[0].keys() | counts[1].keys())
    causes = [(name, counts[0].get(name, 0), counts[1].get(name, 0)) for name in names]
    return SweepDifference(
        tuple(each for key, each in first.items() if key not in second),
        tuple(each for key, each in second.items() if key not in first),
        len(first.keys() & second.keys()),
        tuple(each for each in causes if each[1] != each[2]),
    )
