#!/usr/bin/python3
"""The Python module on the real program; needs FORESCALE_PROGRAM and python/ in PYTHONPATH."""
import json
import os
import tempfile
import unittest

import forescale

STAR = "star:hosts=8,bandwidth=1GB/s,latency=1us"
PREDICTION = {"batch": 256, "system": "s-caffe-obr", "interval": False}


class Module(unittest.TestCase):
    def test_a_prediction_has_a_row_a_count(self):
        answer = forescale.predict("kesch", "googlenet", gpus=[2, 4], **PREDICTION)
        self.assertEqual(list(answer.frame["gpus"]), [2, 4])
        self.assertTrue((answer.frame["iteration_s"] >= answer.frame["bound_s"]).all())
        self.assertAlmostEqual(answer.frame["images_per_s"][0], 256 / answer.frame["iteration_s"][0], delta=0.01)
        self.assertTrue(answer.numbers["source"].str.len().gt(0).any())

    def test_a_transformers_layout_is_a_prediction_too(self):
        frame = forescale.predict("dgx-h100", "llama-3-8b", gpus=16, interval=False,
                                  layout="tp=8,pp=1,micro=1,global=16").frame
        self.assertTrue(frame["fits"][0])
        self.assertGreater(frame["memory.parameters"][0], 8e9 * 2 / 8)

    def test_tuned_layouts_come_fastest_first(self):
        answer = forescale.tune_layout("dgx-h100", "llama-3-8b:num_hidden_layers=8", gpus=8, seq=4096, best=3,
                                       layout="global=64,micro=1,vpp=1,cp=1", interval=False)
        self.assertTrue(answer.frame["iteration_s"].is_monotonic_increasing)
        self.assertEqual(len(answer.frame), 3)
        self.assertEqual(answer.document["tunings"][0]["tried"]["tp"], ["1", "2", "4", "8"])

    def test_a_chain_takes_what_alpha_and_beta_say(self):
        # One rank hands 1 MB to another: 1 us and 1e6 bytes at 1 GB/s.
        frame = forescale.collective(STAR, "broadcast", ranks=2, bytes="1MB", algorithm="binomial").frame
        self.assertAlmostEqual(frame["time_s"][0], 1e-6 + 1e6 / 1e9, delta=1e-9)

    def test_options_that_repeat_are_given_once_a_value(self):
        frame = forescale.crossover(STAR, plans=["reduce/chain", "reduce/binomial"], ranks=8,
                                    chunk_bytes="1MiB").frame
        self.assertEqual(list(frame["ranks"]), [8])

    def test_a_mapping_gives_an_options_options(self):
        answer = forescale.predict("ri2", "resnet-50", gpus=2, batch=64, scaling="weak", interval=False,
                                   system="horovod-mpi-opt", option={"fusion_threshold": 0})
        self.assertEqual(answer.document["options"]["fusion_threshold"], "0 B")

    def test_contenders_stand_in_one_frame(self):
        frame = forescale.compare(["ri2", "owens"], system="horovod-mpi-opt", model="resnet-50", batch=64,
                                  scaling="weak", gpus=[1, 2]).frame
        self.assertEqual(list(frame["platform"]), ["ri2", "ri2", "owens", "owens"])

    def test_the_best_plan_is_no_slower_than_the_next(self):
        answer = forescale.tune_collective(STAR, op="all-reduce", ranks=8, bytes="1MiB")
        self.assertLessEqual(answer.frame["known.best.time_s"][0], answer.frame["known.next.time_s"][0])
        self.assertEqual(answer.document["regions"][0]["plan"], answer.frame["known.best.plan"][0])

    def test_a_recorded_run_takes_what_was_predicted(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run.jsonl")
            predicted = forescale.predict("kesch", "googlenet", gpus=4, record=run, **PREDICTION).frame
            replayed = forescale.replay(run, interval=False).frame
        self.assertAlmostEqual(replayed["iteration_s"][0] / predicted["iteration_s"][0], 1, delta=0.01)

    def test_a_sweep_is_a_table_and_keeps_failures(self):
        study = {"command": "collective", "fixed": {"platform": STAR, "op": "reduce", "bytes": "1MiB"},
                 "grid": {"ranks": [2, 4, 99]}}
        table = forescale.sweep(study)
        self.assertEqual(len(table), 3)
        self.assertEqual(table["time_s"].notna().sum(), 2)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "study.json")
            with open(file, "w", encoding="utf-8") as out:
                json.dump({"format": "forescale-study-1", **study}, out)
            self.assertTrue(forescale.sweep(file)["time_s"].equals(table["time_s"]))

    def test_a_measurement_is_fitted_to_two_files(self):
        # A line without noise: 20 us and 1e9 bytes a second.
        points = [{"bytes": 2**power, "time_s": 20e-6 + 2**power / 1e9} for power in range(0, 23)]
        with tempfile.TemporaryDirectory() as folder:
            measurement, platform, stack = (os.path.join(folder, name)
                                            for name in ("measured.json", "platform.json", "stack.json"))
            with open(measurement, "w", encoding="utf-8") as out:
                json.dump({"format": "forescale-measurement-1",
                           "series": [{"pattern": "ping-pong", "ranks": 2, "points": points}]}, out)
            shown = forescale.calibrate_show(measurement).frame
            fitted = forescale.calibrate_fit(measurement, hosts=4, platform_file=platform, stack_file=stack)
            message = forescale.collective(fitted.document["platform"], "broadcast", ranks=2, bytes="1MB",
                                           stack=fitted.document["stack"], algorithm="binomial").frame
        self.assertEqual(list(shown["bytes"]), [point["bytes"] for point in points])
        self.assertEqual(set(shown["pattern"]), {"ping-pong"})
        link = fitted.frame.set_index("what").loc["link"]
        self.assertAlmostEqual(link["value"] / 1e9, 1, delta=1e-6)
        self.assertLessEqual(link["low"], link["high"])
        self.assertTrue(any("hosts 2 to 3 were not measured" in warning for warning in fitted.warnings))
        self.assertAlmostEqual(message["time_s"][0], 20e-6 + 1e6 / 1e9, delta=1e-8)

    def test_what_the_program_refuses_is_raised(self):
        with self.assertRaisesRegex(forescale.InputError, 'kehsc: unknown; did you mean "kesch"'):
            forescale.predict("kehsc", "googlenet", gpus=2, batch=256)
        self.assertTrue(issubclass(forescale.InputError, forescale.Error))

    def test_a_program_that_is_not_there_is_said(self):
        program = os.environ.pop("FORESCALE_PROGRAM")
        os.environ["FORESCALE_PROGRAM"] = "/no/such/forescale"
        try:
            with self.assertRaisesRegex(forescale.Error, "no program /no/such/forescale"):
                forescale.ask("platform", "list")
        finally:
            os.environ["FORESCALE_PROGRAM"] = program


if __name__ == "__main__":
    unittest.main()
