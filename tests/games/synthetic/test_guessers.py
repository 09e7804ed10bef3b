"""Networks that read texts or look at images tell real from generated records, each in its view."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.games.synthetic import contest, guessers
from divulge.games.synthetic.findings import measure
from divulge.games.synthetic.seen import Seen, Spelled

N, LENGTH = 500, 9
REAL, OTHER = np.arange(N), np.arange(N, 2 * N)


def spelled(rng, *, leak):
    """Tokens at random; the target's losses are smaller for the real half by ``leak``."""
    tokens = rng.integers(0, 20, size=(2 * N, LENGTH))
    helper = rng.normal(size=(2 * N, LENGTH - 1, 2))
    target = rng.normal(size=(2 * N, LENGTH - 1, 1))
    target[:N] -= leak
    return Spelled(tokens, helper, target)


def seen(rng, **more):
    return Seen(rng.normal(size=(2 * N, 3)), np.zeros((2 * N, 0)), np.zeros((2 * N, 1)), **more)


def measured(shown, attack):
    rng = np.random.default_rng(0)
    played = contest.play(shown, REAL, OTHER, error=0.025, rng=rng, attack=attack)
    return played, measure(played, error=0.05, rule="grid")


def test_the_text_network_sees_the_target_s_tokens_and_the_baseline_does_not(rng):
    pytest.importorskip("torch")
    shown = seen(rng, spelled=spelled(rng, leak=2.0))
    played, found = measured(shown, ("text",))
    assert played.chosen == ("text network", "text network")
    assert found.baseline.value < 0.5
    assert found.attack.value > 1.5


@pytest.mark.slow
def test_kinds_compete(rng):
    pytest.importorskip("torch")
    shown = seen(rng, spelled=spelled(rng, leak=2.0))
    played, _ = measured(shown, ("columns", "text"))
    assert played.chosen[1] == "text network"  # nothing stands in the columns


def test_the_views_are_tokens_and_losses_place_by_place(rng):
    own = spelled(rng, leak=0.0)
    rows = np.array([3, 5])
    blind, attack = own.view(rows, False), own.view(rows, True)
    assert blind.shape == (2, LENGTH + 2 * (LENGTH - 1))
    np.testing.assert_array_equal(blind[:, :LENGTH], own.tokens[rows])
    given = guessers.TokenReader(LENGTH, 0)._parts(attack)[1]
    np.testing.assert_array_equal(given[:, :, :2], own.helper[rows])
    np.testing.assert_array_equal(given[:, :, 2:], own.target[rows])
    none = Spelled(own.tokens, np.zeros((2 * N, LENGTH - 1, 0)), own.target)
    assert guessers.TokenReader(LENGTH, 0)._parts(none.view(rows, False))[1].shape[2] == 0


def test_the_image_network_sees_shapes_that_single_pixels_do_not_show(rng):
    pytest.importorskip("torch")
    images = rng.normal(size=(2 * N, 8, 8))
    images[:N, :, 1:] = images[:N, :, :-1]  # neighbours agree, each pixel is as before
    shown = seen(rng, pixels=images.reshape(2 * N, -1))
    _, found = measured(shown, ("image",))
    assert found.baseline.value > 1.5


def test_the_image_network_sees_the_losses(rng):
    pytest.importorskip("torch")
    loss = rng.normal(size=(2 * N, 1))
    loss[:N] -= 3.0
    empty = np.zeros((2 * N, 0))
    shown = Seen(empty, empty, loss, pixels=rng.normal(size=(2 * N, 64)))
    _, found = measured(shown, ("image",))
    assert found.baseline.value < 0.5
    assert found.attack.value > 1.5


def test_refusals(rng):
    with pytest.raises(InputError, match="Unknown attack 'gradient'"):
        guessers.named("gradient")
    with pytest.raises(InputError, match="at least one attack"):
        guessers.named(())
    assert guessers.named(("text", "columns", "text")) == ("text", "columns")
    with pytest.raises(InputError, match="token by token"):
        guessers.guessers(("text",), seen(rng))
    with pytest.raises(InputError, match="must be pixels"):
        guessers.guessers(("image",), seen(rng))


def test_other_content_has_another_digest(rng):
    plain = seen(np.random.default_rng(0))
    more = seen(np.random.default_rng(0), pixels=np.zeros((2 * N, 64)))
    read = seen(np.random.default_rng(0), spelled=spelled(rng, leak=0.0))
    assert len({plain.digest(), more.digest(), read.digest()}) == 3
