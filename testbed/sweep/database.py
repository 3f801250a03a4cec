"""What a sweep keeps: an SQLite database of contents, the paths where they lie, and their doubtful entries.

A content that is kept is not swept again: so a sweep that was interrupted goes on where it was. What another version of
the static pass said is forgotten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from testbed.sweep.model import CauseCount, EntryAnswer, ReportedDoubt, SweepReport, SweptContent
from testbed.words.code_versions import code_of
from testbed.words.errors import UsageError

_TABLES = """
CREATE TABLE IF NOT EXISTS made_by (code TEXT);
CREATE TABLE IF NOT EXISTS contents (
    checksum TEXT PRIMARY KEY, arch TEXT, producer TEXT, entries INTEGER, instructions INTEGER, agreed INTEGER,
    private INTEGER, seconds REAL, failure TEXT);
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, checksum TEXT);
CREATE TABLE IF NOT EXISTS doubts (
    checksum TEXT, section TEXT, first INTEGER, past INTEGER, function TEXT, answer TEXT, cause TEXT, at INTEGER,
    row INTEGER, words TEXT);
CREATE INDEX IF NOT EXISTS doubts_of ON doubts (checksum);
"""
_SUSPECT, _CANNOT_TELL = EntryAnswer.SUSPECT.value, EntryAnswer.CANNOT_TELL.value


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
    with database:
        database.executescript(_TABLES)
        code = code_of("testbed")
        if database.execute("SELECT code FROM made_by").fetchall() != [(code,)]:
            for name in ("made_by", "contents", "files", "doubts"):
                database.execute(f"DELETE FROM {name}")
            database.execute("INSERT INTO made_by VALUES (?)", (code,))


def keep_path(database: sqlite3.Connection, path: Path, checksum: str) -> bool:
    """Keep where a content lies; whether what is said of it is kept, too."""
    with database:
        database.execute("INSERT OR REPLACE INTO files VALUES (?, ?)", (str(path), checksum))
    return database.execute("SELECT 1 FROM contents WHERE checksum = ?", (checksum,)).fetchone() is not None


def keep_swept(database: sqlite3.Connection, swept: SweptContent) -> None:
    """Keep what is said of a content: all of it, or nothing."""
    counts = swept.entries, swept.instructions, swept.agreed, swept.private, swept.seconds, swept.failure
    with database:
        database.execute("DELETE FROM doubts WHERE checksum = ?", (swept.checksum,))
        database.execute(
            "INSERT OR REPLACE INTO contents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (swept.checksum, swept.arch, swept.producer, *counts),
        )
        database.executemany(
            "INSERT INTO doubts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (swept.checksum, d.section, d.start, d.end, d.function, d.answer.value, d.cause, d.at, d.row, d.words)
                for d in swept.doubts
            ],
        )


def report_of(database: sqlite3.Connection) -> SweepReport:
    """All that is kept of contents that lie somewhere, added up."""
    held = "contents WHERE checksum IN (SELECT checksum FROM files)"
    totals = "total(entries), total(instructions), total(agreed), total(private), total(seconds)"
    counts = database.execute(f"SELECT count(*), {totals} FROM {held}").fetchone()
    contents, entries, instructions, agreed, private = map(int, counts[:5])
    doubts = "doubts WHERE checksum IN (SELECT checksum FROM files)"
    answers = dict(database.execute(f"SELECT answer, count(*) FROM {doubts} GROUP BY answer").fetchall())
    suspects = database.execute(
        "SELECT (SELECT min(path) FROM files WHERE files.checksum = doubts.checksum) AS path, first, function, cause, "
        f"words FROM {doubts} AND answer = ? ORDER BY path, first",
        (_SUSPECT,),
    ).fetchall()
    failures = database.execute(
        "SELECT path, failure FROM files JOIN contents USING (checksum) WHERE failure <> '' ORDER BY path"
    ).fetchall()
    return SweepReport(
        database.execute("SELECT count(*) FROM files").fetchone()[0],
        contents,
        entries,
        instructions,
        agreed,
        private,
        answers.get(_SUSPECT, 0),
        answers.get(_CANNOT_TELL, 0),
        counts[5],
        _counted(database, "cause", doubts),
        _counted(database, "producer", f"doubts JOIN contents USING (checksum) WHERE {doubts.partition('WHERE ')[2]}"),
        tuple(ReportedDoubt(*each) for each in suspects),
        tuple(failures),
    )


def _counted(database: sqlite3.Connection, column: str, doubts: str) -> tuple[CauseCount, ...]:
    """Doubtful entries by a column, the most suspects first."""
    rows = database.execute(
        f"SELECT {column}, total(answer = ?), total(answer = ?) FROM {doubts} GROUP BY {column} "
        f"ORDER BY 2 DESC, 3 DESC, {column}",
        (_SUSPECT, _CANNOT_TELL),
    ).fetchall()
    return tuple(CauseCount(name or "not said", int(suspect), int(undecided)) for name, suspect, undecided in rows)
