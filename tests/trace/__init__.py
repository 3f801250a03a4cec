"""Tests of testbed/truth."""

import pytest

pytest.register_assert_rewrite("tests.truth.watched")
