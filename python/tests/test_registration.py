"""Registrations: results, progress, interruption, threads, memory."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from phantom import AFFINE, SHAPE, brain, labels

import freeflow

QUICK = {"levels": 1, "iterations": 4, "device": "cpu"}
SMALL = (16, 18, 14)


def images(*seeds):
    return [freeflow.Image(brain(s), AFFINE) for s in seeds]


def error(a, b):
    return np.abs(a.numpy().astype(float) - b.numpy()).mean()


@pytest.mark.parametrize("model", ["flow", "ffd", "fluid", "demons", "rigid", "similarity", "scaled", "affine"])
def test_every_model_brings_the_images_together(model):
    fixed, moving = images(0, 1)
    options = {"similarity": "ssd"} if model == "demons" else {}
    result = freeflow.register(fixed, moving, model, levels=2, device="cpu", **options)
    gain = error(fixed, result.warped) / error(fixed, moving)
    assert gain < (0.9 if model in ("flow", "ffd", "fluid", "demons") else 1.1)  # NMI is no mean difference
    assert error(moving, result.inverse_warped) < error(fixed, moving)
    assert result.transform.is_affine == (model in ("rigid", "similarity", "scaled", "affine"))
    json.dumps(result.report)


@pytest.mark.parametrize("ask", [lambda r: r.inverse_warped, lambda r: r.transform.inverse(), lambda r: r.save("x_")])
def test_the_inverse_is_computed_once_when_it_is_asked_for(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = freeflow.register(*images(0, 1), **QUICK)
    result.warped, result.transform.jacobian(), result.save("y_", what="warp,warped,report")
    assert "inverse_residual_voxels" not in result.report and result.report["seconds"]["inverting"] == 0
    ask(result)
    seconds = result.report["seconds"]["inverting"]
    assert seconds > 0 and result.report["inverse_residual_voxels"]["mean"] < 0.1
    assert {"below_bound_before", "below_bound_after", "rounds"} == set(result.report["inverse_unfolding"])
    result.transform.inverse(), result.inverse_warped
    assert result.report["seconds"]["inverting"] == seconds
    back = result.transform.inverse().inverse()
    assert np.array_equal(back.numpy(), result.transform.numpy())


def test_threads_that_ask_for_the_inverse_at_once_get_the_same():
    result, found = freeflow.register(*images(0, 1), **QUICK), []
    threads = [threading.Thread(target=lambda: found.append(result.transform.inverse())) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4 and all(np.array_equal(f.numpy(), found[0].numpy()) for f in found)


def test_labels_follow():
    fixed, moving = images(0, 1)
    result = freeflow.register(fixed, moving, device="cpu")
    carried = result.transform.apply(freeflow.Image(labels(1), AFFINE)).numpy()
    agree = [(carried == n)[labels(0) == n].mean() for n in (1, 2, 3)]
    before = [(labels(1) == n)[labels(0) == n].mean() for n in (1, 2, 3)]
    assert np.mean(agree) > np.mean(before) + 0.02


def test_masks_init_and_channels():
    fixed, moving = images(0, 1)
    mask = brain(0) > 20
    freeflow.register(
        fixed, moving, fixed_mask=mask, moving_mask=freeflow.Image(np.ascontiguousarray(brain(1) > 20), AFFINE), init="moments", **QUICK
    )
    two = freeflow.register(
        [fixed, freeflow.Image(brain(0) ** 2, AFFINE)], [moving, freeflow.Image(brain(1) ** 2, AFFINE)], channel_weights=[1, 0.5], **QUICK
    )
    assert len(two.warped_channels) == 2
    features = freeflow.Image.channels(np.stack([brain(0), brain(1)]), AFFINE)
    assert len(features) == 2 and features[1].shape == SHAPE
    coarse = freeflow.Image(np.ones((9, 10, 8), np.uint8), AFFINE @ np.diag([4, 4, 4, 1]))
    with pytest.warns(UserWarning, match="fixed_mask lies on another grid"):
        freeflow.register(fixed, moving, fixed_mask=coarse, **QUICK)


def test_centres_of_mass_are_of_what_counts():
    padded = [np.where(np.arange(36)[:, None, None] < n, np.float32(-2000), brain(s)) for s, n in ((0, 3), (1, 9))]
    missing = [np.where(a == -2000, np.nan, a) for a in padded]
    given = {"init": "moments", "linear": "none", "start": "none", "levels": 1, "iterations": 0, "device": "cpu"}
    for more in ({}, {"background": -2000}, {"clip": (-1, 50)}):
        found, same = freeflow.register(*padded, **given, **more), freeflow.register(*missing, **{**given, "background": 12345, **more})
        assert np.allclose(found.transform.affine_ras, same.transform.affine_ras), more
    spots = [np.where(np.arange(32) < n, np.float32(9e4), brain(s)) for s, n in ((0, 1), (1, 0))]
    found, same = (freeflow.register(*pair, clip=(0, 80), **given) for pair in (spots, [a.clip(0, 80) for a in spots]))
    assert np.allclose(found.transform.affine_ras, same.transform.affine_ras)


def test_progress_is_told_and_may_stop():
    told = []
    freeflow.register(*images(0, 1), progress=lambda *what: told.append(what), levels=2, iterations=5, device="cpu")
    assert {stage for stage, *_ in told} >= {"linear", "nonrigid"}
    assert max(iteration for stage, level, _, iteration, *_ in told if stage == "nonrigid") >= 5

    def stop(*_):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        freeflow.register(*images(0, 1), progress=stop)
    freeflow.register(*images(0, 1), progress=True, **QUICK)


@pytest.mark.parametrize("model", ["flow", "rigid"])
def test_what_the_last_call_of_all_raises_is_raised(model):
    given = {"levels": 1, "iterations": 3, "device": "cpu"}
    told = []
    freeflow.register(*images(0, 1), model, progress=lambda *what: told.append(what), **given)

    def stop(*_):
        told.pop()
        if not told:
            raise LookupError("at last")

    with pytest.raises(LookupError, match="at last"):
        freeflow.register(*images(0, 1), model, progress=stop, **given)


@pytest.mark.parametrize("model, options", [("flow", {"levels": 2, "iterations": 3}), ("rigid", {"search": "powell"})])
def test_progress_counts_from_one_to_all(model, options):
    told = []
    small = [brain(s, (18, 20, 16)) for s in (0, 1)]
    freeflow.register(*small, model, progress=lambda *what: told.append(what), device="cpu", **options)
    assert all(0 <= level < levels and 0 < iteration <= iterations for _, level, levels, iteration, iterations, _ in told)


def test_progress_counts_the_iterations_of_the_report():
    told = {}
    result = freeflow.register(*images(0, 1), progress=lambda stage, level, *what: told.update({(stage, level): what}), levels=2, iterations=5, device="cpu")
    stages = {"nonrigid": result.report["levels"], "linear": result.report["linear"]["levels"]}
    counts = {(stage, level["level"] - 1): level["iterations"][-1]["iteration"] for stage, levels in stages.items() for level in levels}
    assert {at: (iteration, iterations) for at, (_, iteration, iterations, _) in told.items()} == {at: (n, n) for at, n in counts.items() if n}
    assert max(n for (stage, _), n in counts.items() if stage == "nonrigid") == 5  # as many as were allowed, not the start too


def test_control_c_ends_the_work(tmp_path):
    code = (
        "import freeflow, numpy as np, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a job in the background inherits as ignored
        "print('go', flush=True)\n"
        "a = np.random.default_rng(0).random((120, 120, 120), np.float32)\n"
        "try:\n    freeflow.register(a, a[::-1], 'ffd', iterations=100000, linear='none', start='none', device='cpu')\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    run.stdout.readline()
    time.sleep(2.0)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=30)
    assert out.strip() == "interrupted" and run.returncode == 0


def test_other_threads_run_meanwhile():
    count, done = 0, threading.Event()

    def work():
        freeflow.register(*images(0, 1), threads=1, device="cpu")
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        count += 1
        time.sleep(0.001)
    thread.join()
    assert count > 20


def test_threads_share_a_context():
    context, results = freeflow.Context("cpu"), []

    def work():
        results.append(freeflow.register(*images(0, 1), levels=1, iterations=4, context=context))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(r.transform.numpy(), results[0].transform.numpy()) for r in results) and len(results) == 3


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    freeflow.register(*images(0, 1), **QUICK).plot(tmp_path / "p.png", axis=1)
    assert (tmp_path / "p.png").stat().st_size > 10000


def test_the_report_says_how_the_images_were_seen(tmp_path):
    micrometres = np.diag([1e3, 1e3, 1e3, 1]) @ AFFINE
    for name, array, affine in (("f", brain(0), micrometres), ("m", brain(1), AFFINE), ("counts", np.ones(SHAPE, np.uint8), AFFINE)):
        freeflow.Image(array, affine).write(tmp_path / f"{name}.nii")
    header = bytearray((tmp_path / "f.nii").read_bytes())
    header[123] = 3  # xyzt_units
    (tmp_path / "f.nii").write_bytes(header)
    seen = {"moving_mask": tmp_path / "counts.nii", "background": -3, "clip": (-1, 900.5), "init": freeflow.Transform.identity()}
    with pytest.warns(UserWarning) as warned:
        result = freeflow.register(tmp_path / "f.nii", tmp_path / "m.nii", linear="none", **seen, **QUICK)
    assert [str(w.message) for w in warned] == result.report["warnings"]
    assert "micrometres" in result.report["warnings"][0]
    options = result.report["options"]
    assert (options["background"], options["clip"], options["init"], options["interpolation"]) == ("-3", "-1,900.5", "Transform", "linear")
    result.save(tmp_path / "x_", what="report")
    assert json.loads((tmp_path / "x_report.json").read_text())["inputs"]["moving_mask"] == str(tmp_path / "counts.nii")


def test_only_what_is_asked_for_is_written(tmp_path):
    result = freeflow.register(*images(0, 1), channel_weights=np.array([1.5], "f4"), **QUICK)
    paths = result.save(tmp_path / "new" / "x_", what="warp,report")
    assert sorted(os.path.basename(p) for p in paths) == ["x_0GenericAffine.mat", "x_1Warp.nii.gz", "x_report.json"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == sorted(os.path.basename(p) for p in paths)
    assert json.loads((tmp_path / "new/x_report.json").read_text())["options"]["channel_weights"] == [1.5]
    read = freeflow.Transform.read(paths[1], paths[0])
    points = np.random.default_rng(0).uniform(-20, 20, (50, 3))
    assert np.abs(read.points(points) - result.transform.points(points)).max() < 1e-4
