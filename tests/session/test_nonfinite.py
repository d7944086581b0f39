"""Test that NaN and infinities among the values are counted and become findings."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_debug_widgets as jdw
from jax_debug_widgets.session import snapshot_of
from jax_debug_widgets.session.panel import overview
from jax_debug_widgets.widgets import summary


def all_of(run):
    """Return the findings, and those that follow from them."""
    return [one for finding in run.findings for one in (finding, *finding.followed_by) if one.kind == "nonfinite"]


def found(run):
    return {finding.site.kind: finding for finding in all_of(run)}


def test_nonfinite_values_are_counted_by_site_with_their_first_event():
    @jax.jit
    def f(x):
        def step(x, i):
            jax.debug.print("g {}", jnp.log(x - 3))
            jax.debug.callback(lambda *_: None, jnp.ones(4).at[i].set(jnp.inf), i)
            jax.debug.print("fine {}", x)
            return x + 1, None

        return jax.lax.scan(step, x, jnp.arange(6))[0]

    with jdw.capture() as run:
        f(0.0)
    values = [value for event in run.events for value in event.values if value.dtype.kind == "f"]
    nan = sum(int(np.isnan(value).sum()) for value in values)
    assert nan == 3
    findings = found(run)
    assert set(findings) == {"print", "callback"}
    log = findings["print"]
    assert log.seen == 4  # log(0) is -inf.
    first = next(event.seq for event in run.events if event.site == log.site)
    assert (
        f"(jnp.log(x - 3)): 3 NaN, 1 infinite among its values, first at step 0 (event {first} of run.events)."
        in log.message
    )
    assert findings["callback"].seen == 4
    told = run.status().nonfinite
    assert told is not None and (told.nan, told.inf) == (3, 5)
    assert told.first == min(
        event.seq for event in run.events if not all(np.isfinite(one).all() for one in event.values)
    )
    text = summary(snapshot_of(run))
    assert "6 times (unordered print), 3 NaN, 1 infinite" in text
    assert "fine" not in "".join(finding.message for finding in findings.values())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "complex64"])
@pytest.mark.parametrize("size", [3, 100_000])
def test_a_nan_is_found_in_values_of_any_dtype_and_size(dtype, size):
    with jdw.capture() as run:
        jax.debug.print("{x}", x=jnp.zeros(size, dtype).at[1].set(jnp.nan))
    (finding,) = found(run).values()
    assert finding.seen == 1


def test_an_infinity_in_a_lane_is_found_after_its_event_was_dropped():
    with jdw.capture(max_events=10) as run:
        jax.jit(jax.vmap(lambda x: jax.debug.print("{y}", y=1 / x)))(jnp.arange(5.0))
        for _ in range(30):
            jax.debug.print("{z}", z=1.0)
    (finding,) = found(run).values()
    assert finding.seen == 1
    assert "first in event 0 of run.events." in finding.message


def test_integers_and_keys_have_no_finding():
    with jdw.capture() as run:
        jax.debug.print("{i} {b}", i=jnp.arange(3), b=True)
        jax.debug.callback(lambda _: None, jax.random.key(0))
    assert not found(run)


def test_a_finding_counts_the_elements_of_an_array_rather_than_its_statistics():
    @jax.jit
    def f(x):
        later = jnp.zeros(3) / (x[0] - x[0])  # all NaN: without finite elements there is no minimum
        first = x.at[1].set(x[0] / (x[1] - x[2])).at[2].set(jnp.nan)
        return later, first, jnp.sqrt(x * 1e30) * 1e18

    with jdw.capture(watch=True) as run:
        f(jnp.ones(4))
    told = [(one.site.label, one.message) for one in run.findings]  # Neither value is computed from the other.
    assert [label for label, _ in told] == [label for label in run.values if label in ("later", "first")], told
    assert ("later", told[0][1]) == told[0] and "3 NaN among" in told[0][1], told
    assert "1 NaN, 1 infinite among" in told[1][1], told
    assert "1 NaN" in repr(run.findings) and "CallSite" not in repr(run.findings)


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("number", [3e38, 3e38 + 3e38j, 1e300], ids=repr)
@pytest.mark.each
def test_a_large_finite_number_is_not_counted_as_infinite(number, is_native, monkeypatch):
    """It does not stop `--break-on nonfinite` and has no finding. Its norm does not fit float32."""
    if not is_native:
        for module in ("statistics.statistics", "choosing.lanes"):
            monkeypatch.setattr(f"jax_debug_widgets.watch.{module}.native_target", lambda: None)

    @jax.jit
    def f(x):
        h = jnp.negative(x)
        return jax.vmap(jnp.negative)(h)

    with jax.enable_x64(number == 1e300):
        x = jnp.array([[number, -number, number]] * 10)
        with jdw.capture(watch="h", break_on="nonfinite", histograms=True) as run:
            f(x)
        h = run["h"]
        assert all(np.isfinite(h[statistic]).all() for statistic in h)
        assert h.histogram.sum() == x.size
        assert not run.findings and not run.notes
        with jdw.capture(watch="h", break_on="nonfinite") as run:
            f(x.at[3, 1].set(jnp.inf))
        assert (run["h"]["posinf"] + run["h"]["neginf"])[0] == 1 and np.isinf(run["h"]["l2"][0])
        assert run.findings and any("skipped" in note for note in run.notes)


def test_the_text_says_where_the_first_of_all_was_and_at_which_call_and_step():
    @jax.jit
    def f(x):
        def step(x, _):
            y = jnp.log(x)
            z = y * 2
            return x - 1, z

        return jax.lax.scan(step, x, length=2)

    with jdw.capture(watch="y,z") as run:
        x = jnp.float32(5)
        for _ in range(4):
            x, _zs = f(x)
    first = next(line for line in summary(snapshot_of(run)).splitlines() if line.startswith("  first NaN or infinite"))
    assert first.endswith("y, call 2, step 1")  # log(0)
    assert run.findings[0].message.endswith(
        "first an infinite one at call 2, step 1 (event 10 of run.events). 1 other had one later: z."
    )
    with jdw.capture(watch="y,z") as run:
        f(jnp.float32(5))
    assert "first NaN" not in summary(snapshot_of(run))


def test_a_run_says_where_the_first_was_born():
    @jax.jit
    def f(x):
        def step(x, _):
            y = jnp.log(x)
            z = y * 2
            jax.debug.print("{z}", z=z)
            return x - 1, z

        return jax.lax.scan(step, x, length=4)

    with jdw.capture(watch="y,z") as run:
        f(jnp.float32(2))
    line = run["y"].site.line
    assert repr(run).endswith(f"; first NaN or infinite: test_nonfinite.py:{line}  y, step 2>"), repr(run)
    (finding,) = run.findings
    assert [one.site.label for one in (finding, *finding.followed_by)] == ["y", "z", "z"]
    with jdw.capture() as run:
        jax.debug.print("{x}", x=1.0)
    assert repr(run).endswith("1 event from 1 site>")


def test_the_text_says_how_many_calls_it_leaves_out(monkeypatch):
    monkeypatch.setattr("jax_debug_widgets.session.run.call_book.MAX_CALLS", 3)
    f = jax.jit(lambda x: (jax.debug.print("x {}", x), x + 1)[1])
    with jdw.capture() as run:
        for _ in range(5):
            f(1.0)
            assert run.barrier()  # Pending effects are kept.
    assert "… and 2 earlier calls, only their number is kept" in summary(snapshot_of(run))


def norm(v):
    n2 = jnp.sum(v * v)
    return jnp.sqrt(n2)


def line_of(text):
    lines, first = inspect.getsourcelines(norm)
    return first + next(number for number, line in enumerate(lines) if text in line)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.checkpoint, jax.vmap], ids=["plain", "checkpoint", "vmap"])
def test_a_gradient_begins_at_the_line_whose_derivative_is_infinite(wrap):
    @jax.jit
    def slope(w, x):
        def loss(w):
            h = w * x
            size = wrap(norm)(h)
            out = h / (size + 1.0)[..., None]
            return (out * out).sum()

        return jax.grad(loss)(w)

    shape = (2, 3) if wrap is jax.vmap else (3,)
    with jdw.capture(watch=True) as run:
        for x in (1.0, 1.0, 0.0):
            slope(jnp.ones(shape), jnp.full(shape, x))
    (finding,) = run.findings
    assert finding.site.label == "grad/n2" and finding.site.line == line_of("n2 =")
    guilty = f"test_nonfinite.py:{line_of('return')}"
    assert finding.where == guilty
    assert f"The derivative of `jnp.sqrt(n2)` at {guilty} computes it." in finding.message
    assert "first at call 2" in finding.message
    followers = {one.site.label for one in finding.followed_by}
    assert "grad/h" in followers and not followers & {"h", "n2", "out", "grad/out"}
    assert f"{guilty}  grad/n2, by the derivative of `jnp.sqrt(n2)`, call 2" in repr(run)


def test_a_gradient_of_several_uses_names_those_that_may_have_made_it():
    @jax.jit
    def slope(x):
        def loss(x):
            a = x * 2
            b = jnp.sqrt(a)
            c = a**1.5
            d = jnp.sin(a)
            return (b + c + d).sum()

        return jax.grad(loss)(x)

    with jdw.capture(watch=True) as run:
        slope(jnp.zeros(2))
    (finding,) = run.findings
    assert finding.site.label == "grad/a"
    line = finding.site.line
    places = f"`jnp.sqrt(a)` at test_nonfinite.py:{line + 1} or `a ** 1.5` at test_nonfinite.py:{line + 2}"
    assert f"The derivative of {places} computes it: --check nonfinite finds out which" in finding.message
    assert finding.where == finding.site.where


def handed_on(x):
    h = x * 2
    k = h - 1.0
    m = k * 3.0
    o = jnp.sqrt(m)
    return o.sum()


def in_one_line(x):
    h = x * 2
    return jnp.sqrt(-(h - 1.0) * -3.0).sum()


@jax.custom_vjp
def ruled(x):
    return x


def of_rule(x):
    h = x * 2
    k = h + 1.5
    return ruled(k).sum()


ruled.defvjp(lambda x: (x, x), lambda x, g: (g / (x * 0),))
MAKERS = {handed_on: ("jnp.sqrt(m)", 4), in_one_line: ("jnp.sqrt(-(h - 1.0) * -3.0)", 2), of_rule: ("ruled(k)", 3)}


@pytest.mark.parametrize("function", MAKERS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("watch", ["x", "h"])
def test_a_line_whose_derivative_only_hands_on_is_not_named(function, watch):
    with jdw.capture(watch=watch) as run:
        jax.jit(jax.grad(function))(jnp.array([0.5, 3.0]))
    text, line = MAKERS[function]
    guilty = f"test_nonfinite.py:{inspect.getsourcelines(function)[1] + line}"
    (finding,) = run.findings
    assert f"The derivative of `{text}` at {guilty} computes it." in finding.message and finding.where == guilty
    assert f"{guilty}  grad/{watch}, by the derivative of `{text}`>" in repr(run)


def test_a_finding_names_several_candidates_if_the_inputs_of_a_derivative_are_unknown():
    @jax.jit
    def inner(a):
        b = a * 2
        return jnp.sqrt(b)

    def loss(x):
        return jnp.sqrt(inner(x) * 3).sum()

    with jdw.capture(watch="b") as run:
        jax.jit(jax.grad(loss))(jnp.array([0.0, 3.0]))
    (finding,) = run.findings
    assert "The derivative of `jnp.sqrt(b)`" in finding.message
    assert "or what comes after computes it: --check nonfinite finds out which" in finding.message
    assert finding.where == finding.site.where and "or of what comes after it" in repr(run)


def test_an_infinity_that_may_be_intended_hides_no_later_nan():
    @jax.jit
    def f(best, limit, x):
        best = jnp.minimum(best, limit)
        y = jnp.log(x)
        z = y + 1
        return best, z

    with jdw.capture(watch=True) as run:
        best = jnp.float32(jnp.inf)
        for limit, x in ((jnp.inf, 2.0), (1.0, 2.0), (1.0, -1.0)):
            best, _ = f(best, jnp.float32(limit), jnp.float32(x))
    *meant, last = run.findings
    assert {one.site.label for one in meant} == {"best", "limit"}
    assert last.site.label == "y"
    assert [one.site.label for one in last.followed_by] == ["z"]


def test_a_value_that_may_be_masked_follows_nothing_where_it_was_first():
    @jax.jit
    def slope(x):
        def loss(x):
            root = jnp.log(x)
            kept = jnp.where(x > 0, root, 0.0)
            return kept.sum()

        return jax.value_and_grad(loss)(x)

    with jdw.capture(watch=True) as run:
        slope(jnp.array([1.0, 0.0]))
    told = {one.site.label: one for one in run.findings}
    assert "They may be masked" in told["root"].message
    assert "The derivative of `jnp.log(x)`" in told["grad/x"].message


@pytest.mark.parametrize("wrap", [lambda f: f, jax.vmap, jax.checkpoint], ids=["jit", "vmap", "checkpoint"])
def test_a_nan_that_reaches_a_gradient_is_not_called_masked(wrap):
    def slope(x):
        def loss(x):
            n2 = (x**2).sum()
            norm = jnp.where(n2 > 0, jnp.sqrt(n2), 1.0)
            return (x / norm).sum()

        return jax.grad(loss)(x)

    with jdw.capture(watch=True) as run:
        jax.block_until_ready(jax.jit(wrap(slope))(jnp.zeros((2, 3))))
    found = run.findings[0]
    assert "The derivative of `jnp.sqrt(n2)`" in found.message and "masked" not in str(run) + found.message
    first = run.status().first_nonfinite
    assert first is not None and found.site is not None
    assert (first.site, first.event, first.nan, first.masked) == (found.site.id, found.event, True, False)


def masks(x):
    logs = jnp.log(x)
    kept = jnp.where(x > 0, logs, 0.0)
    ratio = kept / 0.0
    jax.debug.print("{}", ratio)
    return ratio.sum()


def overflows(x):
    def step(carry, _):
        carry = carry * 2e10
        jax.debug.print("{}", carry)
        gap = carry - carry * 1.5
        return carry, gap / gap

    return jax.lax.scan(step, x, None, length=6)[1]


def norms(x):
    size = jnp.linalg.norm(x)
    unit = x / size
    jax.debug.print("{}", unit)
    return size


@pytest.mark.parametrize("watch", [True, None])
@pytest.mark.parametrize(
    ("program", "x", "begins"),
    [
        (masks, [-1.0, 0.0], "`kept / 0.0` is NaN"),
        (overflows, [1.0], "`carry * 2e10` is inf, step 3"),
        (jax.grad(norms), [0.0, 0.0], "the derivative of `jnp.linalg.norm(x)` is infinite"),
    ],
    ids=["masks", "overflows", "norms"],
)
def test_all_views_call_the_nan_that_a_check_has_located_the_first(program, x, begins, watch):
    with jdw.capture(watch=watch, check="nonfinite") as run:
        jax.block_until_ready(jax.jit(program)(jnp.array(x)))
    born, first = run.findings[0], run.status().first_nonfinite
    assert born.headline == begins and born.followed_by and born.event == born.followed_by[0].event
    assert first is not None and (first.where, first.file, first.line) == (born.where, born.file, born.span[0])
    assert f"first NaN or infinite: {born.where}  {begins}" in str(run)
    (fact,) = (one for one in overview.facts(run, [], []) if one.label.startswith("First"))
    assert fact.note.startswith(born.where)
    assert not [one for one in run.findings if one.site and not one.site.choice]


@jax.jit
def given(x):
    y = x + 1
    jax.debug.print("{}", y)
    return y * 2


def born_later(x):
    return jnp.log(x * 2)


@pytest.mark.parametrize("before", ["un-jitted", "of an argument", "nothing"])
def test_a_nan_before_the_located_one_does_not_follow_from_it(before):
    with jdw.capture(watch=True, check="nonfinite") as run:
        if before == "un-jitted":
            jax.debug.print("{}", jnp.array([jnp.inf, 1.0]))
        elif before == "of an argument":
            jax.block_until_ready(given(jnp.array([jnp.inf, 1.0])))
        for _ in range(2):
            jax.block_until_ready(jax.jit(born_later)(jnp.array([1.0, -1.0])))
    line = born_later.__code__.co_firstlineno + 1
    born = next(one for one in run.findings if one.headline and one.site is None)
    first = run.status().first_nonfinite
    assert born.span[0] == line
    if before == "nothing":
        assert first is None or first.line == line
    else:
        assert first is not None and first.line != line and not born.followed_by


@pytest.mark.parametrize("options", [{}, {"values": True}, {"lanes": True}], ids=str)
def test_the_first_is_one_and_the_same_in_the_status_the_findings_and_the_overview(options):
    @jax.jit
    def total(x):
        logs = jnp.log(x)
        jax.debug.print("{}", logs.sum())
        return logs.sum()

    with jdw.capture(watch=True, **options) as run:
        jax.block_until_ready(total(jnp.array([1.0, -1.0])))
    first = run.status().first_nonfinite
    assert first is not None and run.store.event(first.event).site.label == "logs"
    assert run.findings[0].event == first.event
    fact = next(one for one in overview.facts(run, [], []) if one.label.startswith("First"))
    assert (fact.label, fact.value) == ("First NaN", "logs")


def test_the_overview_names_the_value_of_a_print_and_not_its_format():
    with jdw.capture() as run:
        jax.jit(lambda loss, temp: jax.debug.print("loss {loss} temp {t}", loss=loss, t=temp))(1.0, jnp.inf)
    fact = next(one for one in overview.facts(run, [], []) if one.label.startswith("First"))
    assert (fact.label, fact.value) == ("First infinity", "temp")


def test_an_infinity_before_a_nan_is_the_first():
    @jax.jit
    def ends(x):
        high = jnp.exp(x)
        return high - high

    with jdw.capture(watch=True) as run:
        jax.block_until_ready(ends(jnp.float32(200)))
    first = run.status().first_nonfinite
    assert first is not None and not first.nan


def test_the_first_of_a_second_capture_is_the_first_of_its_events():
    """Sites of both captures keep the order of the first capture; other sites have that of the second."""

    @jax.jit
    def scanned(x):
        def step(x, i):
            def nll(x):
                hit = jnp.log(x - i)
                return -jnp.mean(hit)

            loss, _ = jax.value_and_grad(nll)(x)
            return x, loss

        return jax.lax.scan(step, x, jnp.arange(8.0))

    for options in ({}, {"values": True}):
        with jdw.capture(watch=True, **options) as run:
            jax.block_until_ready(scanned(jnp.full(4, 5.0)))
        (finding,) = run.findings
        first = run.status().first_nonfinite
        assert first is not None and finding.event == first.event == min(one.event for one in all_of(run))
        assert finding.headline == "`hit` becomes infinite"  # The NaN of `hit` come later.


def test_a_value_that_is_infinite_before_it_is_nan_becomes_infinite():
    @jax.jit
    def f(x):
        h = jnp.log(x)
        return h + 1

    with jdw.capture(watch="h") as run:
        f(jnp.array([0.0, 1.0])), f(jnp.array([-1.0, 1.0]))
    (finding,) = run.findings
    assert finding.headline == "`h` becomes infinite"
    assert (
        "1 NaN, 1 infinite among its values, first an infinite one at call 0 (event 0 of run.events)" in finding.message
    )


def test_an_argument_comes_before_the_loops_of_its_call():
    @jax.jit
    def f(w, y):
        def body(w, _):
            loss = ((w - y) ** 2).mean()
            return w - loss, loss

        return jax.lax.scan(body, w, None, length=3)

    with jdw.capture(watch=True) as run:
        f(jnp.ones(2), jnp.array([1.0, jnp.nan]))
    (finding,) = run.findings
    assert finding.site.label == "y"


@pytest.mark.parametrize("options", [{}, {"watch": True}, {"check": "nonfinite"}, {"break_on": "nonfinite"}], ids=str)
def test_a_nan_that_only_a_vmap_computes_is_none_of_the_program(options):
    def q(x):
        def positive(x):
            y = jnp.sqrt(x)
            jax.debug.print("sqrt {y}", y=y)
            return y

        return jax.lax.cond(x > 0, positive, lambda x: -x, x)

    with jdw.capture(**options) as run:
        jax.jit(jax.vmap(q))(jnp.array([4.0, -1.0]))
    jax.effects_barrier()
    assert sum(event.phantom for event in run.events) == 1
    first, told = run.status().first_nonfinite, all_of(run)
    assert first is None or first.masked
    assert [one.site.kind for one in told] == ["watch"] * ("watch" in options)
    assert all("masked" in one.message for one in told)
    assert not any("skipped" in note for note in run.notes)


def test_the_lanes_that_are_there_keep_their_nan_beside_phantoms():
    def q(x):
        def odd(x):
            jax.debug.print("{y} {z}", y=jnp.log(x), z=jnp.full(2, jnp.nan))
            return x

        return jax.lax.cond(x < 2, odd, lambda x: -x, x)

    with jdw.capture() as run:
        jax.jit(jax.vmap(q))(jnp.array([-4.0, 1.0, 5.0]))
    jax.effects_barrier()
    (finding,) = all_of(run)
    assert (finding.seen, finding.lane) == (5, (0,))


def block(p, x):
    h = x @ p
    a = jnp.log(h)
    return x + a


def layers(ps, x):
    for p in ps:
        x = jax.checkpoint(block)(p, x)
    return (x**2).mean()


def printed(x):
    a = jnp.log(x)
    b = a + 1
    jax.debug.print("b={b}", b=b)
    return b


def in_a_scan(x):
    return jax.lax.scan(lambda c, _: (c - 1, jax.vmap(printed)(c)), x, None, length=3)


def before_a_loop(x):
    a = jnp.log(x)

    def body(c, _):
        c = c * 2
        return c, c

    return jax.lax.scan(body, a, None, length=2)


EYE = jnp.eye(2)
ORIGINS = {
    "recomputed layers": (jax.value_and_grad(layers), ([EYE * 2, -EYE, EYE], jnp.array([1.0, 2.0])), "a", (), ()),
    "a print under vmap": (jax.vmap(printed), (jnp.array([1.0, -1.0]),), "a", (), (1,)),
    "a print under nested vmaps": (jax.vmap(jax.vmap(printed)), (jnp.array([[1.0, 1.0, -1.0]]),), "a", (), (0, 2)),
    "a print in a scan": (in_a_scan, (jnp.array([2.5, 1.5]),), "a", (2,), (1,)),
    "a print in what is differentiated": (
        jax.vmap(jax.grad(lambda x: printed(x) * 2)),
        (jnp.array([1.0, -1.0]),),
        "a",
        (),
        (1,),
    ),
    "a line before a loop": (before_a_loop, (jnp.array([-1.0]),), "a", (), ()),
}


@pytest.mark.parametrize("case", ORIGINS)
def test_the_first_is_the_one_that_the_program_computes_first(case, tmp_path):
    function, arguments, name, step, lane = ORIGINS[case]
    with jdw.capture(watch=True, check="nonfinite") as run:
        jax.jit(function)(*arguments)
    jax.effects_barrier()
    run.save(tmp_path / "run.jdw")
    for one in (run, jdw.load(tmp_path / "run.jdw")):
        first = one.status().first_nonfinite
        event = next(event for event in one.events if event.seq == first.event)
        told = event.site.label, event.site.phase, event.step, first.lane
        assert told == (name, "forward", step, lane)


def test_a_gradient_of_recomputed_layers_comes_before_what_is_updated_by_it():
    @jax.checkpoint
    def root(w, x):
        n2 = ((w * x) ** 2).sum()
        return jnp.sqrt(n2)

    def update(w, x):
        g = jax.grad(root)(w, x)
        new = w - g
        return new, new.sum()

    with jdw.capture(watch=True) as run:
        jax.jit(update)(jnp.zeros(2), jnp.ones(2))
    jax.effects_barrier()
    (finding,) = run.findings
    assert finding.site.label == "grad/n2"
    assert "new" in [one.site.label for one in finding.followed_by]
