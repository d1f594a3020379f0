#!/usr/bin/env python3
"""The style checkers: each passes a clean little tree and names each violation planted in it. And what
./test says of skipped tests (tests/skips.py)."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import project

HERE = pathlib.Path(__file__).resolve().parent
SETTINGS = [".clang-format", ".clang-tidy"]

# A tree without a violation; it holds what a careless checker would complain about.
CLEAN = {
    "base/units.hpp": "// Not code: using namespace std; #include <mpi.h>\n"
                        "#pragma once\n\n#include <string>\n\nstd::string unit();\n",
    "base/json_text.cpp": "json parse_json(T t) { return json::parse(t); }\n",
    "base/units.cpp": '#include "base/units.hpp"\n\n'
                        'std::string unit() { return "#include <simgrid/s4u.hpp>"; }\n',
    "models/dnn/import.cpp": '#include "base/units.hpp"\n#include "caffe.pb.h"\n'
                             '#include "models/dnn/net.pb.h"\n',
    "models/dnn/net.proto": 'syntax = "proto2";\n',
    "topologies/routes.cpp": '#include <boost/graph/adjacency_list.hpp>\n\n'
                             '#include "base/units.hpp"\n',
    "topologies/fabrics/generator_star.cpp": "const bool kRegistered = add_fabric({});\n",
    "algorithms/collectives/ring.cpp": "// Ring.\nconst bool kRegistered = Registry<Collective>::"
                                       'add({.name = "ring"});\n',
    "algorithms/schedules/two.cpp": "const bool kBoth = [] {\n  register_schedule(a);\n"
                                    "  return register_schedule(b);\n}();\n",
    "sim/engine/simgrid/world.cpp": '#include <simgrid/s4u.hpp>\n\n#include "base/units.hpp"\n',
    "calibrate/fit.cpp": "#include <Eigen/Dense>\n",
    "calibrate/bench/ping.cpp": "#include <cuda_runtime.h>\n#include <mpi.h>\n",
    "cli/command_line.cpp": "#include <CLI/CLI.hpp>\n",
    "cli/list.cpp": "namespace {\n\nstruct ListOptions {};\nvoid run(const ListOptions& options);\n\n"
                    "}  // namespace\n",
    "cli/show.cpp": "namespace {\n\nstruct ShowOptions {};\nvoid run(const ShowOptions& options);\n\n"
                    "}  // namespace\n",
    "tests/helper.hpp": "#pragma once\n\nclass Other;\nstruct Helper {};\n",
    "tests/sim/world_test.cpp": '#include <gtest/gtest.h>\n#include <simgrid/s4u.hpp>\n\n'
                                '#include "base/units.hpp"\n#include "tests/helper.hpp"\n\n'
                                "namespace {\n\nusing Words = std::vector<int>;\n"
                                "void PrintTo(Words);\nint twice(int value) {\n"
                                "  int once = value;\n  return 2 * once;\n}\n\n}  // namespace\n",
    # What two files of a folder may both have, and two folders.
    "tests/sim/moon_test.cpp": "namespace {\n\nusing Words = std::vector<int>;\nvoid PrintTo(int);\n"
                               "int once() { return 1; }\n\n}  // namespace\n"
                               "testing::Helper help(::testing::Test);\n",
    "tests/models/twice_test.cpp": "namespace {\n\nint twice() { return 2; }\n\n}  // namespace\n",
    "tests/data/osu.log": "1\t2\n",
    "README.md": "[page](docs/page.md#part) [folder](models/) [web](https://example.org/work/x)\n"
                 "`[code](none.md)`\n\n```\n[code](none.md)\n```\n[here](#part) ![x][y]\n\n"
                 "[y]: docs/a%20b.md 'title'\n",
    "docs/page.md": "[up](../README.md)\n",
    "docs/a b.md": "\n",
    "build/release/left.hpp": "\tusing namespace std;\n",
}

# (checker, file, its content, the line to be named)
VIOLATIONS = [
    ("names", "tests/sim/twice.hpp", "#pragma once\nenum class Helper {\n};\n", 2),
    ("names", "tests/sim/x_test.cpp", "namespace {\n\nint x() { return 1; }\nlong twice(long value);\n\n"
                                      "}  // namespace\n", 4),
    ("names", "tests/sim/y_test.cpp", "namespace {\n\nusing Words = std::set<int>;\n\n}  // namespace\n", 3),
    ("names", "tests/sim/z_test.cpp", "namespace {\n\nconst int unit = 1;\n\n}  // namespace\n", 3),
    ("names", "cli/tell.cpp", "namespace {\n\nvoid run(const ListOptions& options);\n\n"
                               "}  // namespace\n", 3),
    ("names", "cli/sing.cpp", "namespace {\n\nstruct ShowOptions {};\n\n}  // namespace\n", 3),
    ("names", "topologies/unit.cpp", '#include "base/units.hpp"\n\nnamespace {\n\n'
                                     "int unit(Words words);\n\n}  // namespace\n", 5),
    ("names", "tests/sim/not_test.cpp", "\nusing testing::Not;\n", 2),
    ("includes", "models/up.cpp", '\n#include "sim/engine/world.hpp"\n', 2),
    ("includes", "algorithms/up.cpp", '#include "traces/t.hpp"\n', 1),
    ("includes", "tests/models/up_test.cpp", '#include "algorithms/a.hpp"\n', 1),
    ("includes", "tests/models/up2_test.cpp", '#include "tests/sim/h.hpp"\n', 1),
    ("includes", "models/out.cpp", '#include "../models/units.hpp"\n', 1),
    ("includes", "models/beside.cpp", '#include "units.hpp"\n', 1),
    ("includes", "models/angle.cpp", "#include <base/units.hpp>\n", 1),
    ("includes", "models/test.cpp", '#include "tests/helper.hpp"\n', 1),
    ("includes", "models/sim.cpp", "// x\n\n#include <simgrid/s4u.hpp>\n", 3),
    ("includes", "sim/boost.cpp", "#include <boost/graph/graph_traits.hpp>\n", 1),
    ("includes", "tests/sim/boost_test.cpp", "#include <boost/range.hpp>\n", 1),
    ("includes", "sim/eigen.cpp", "  #  include <Eigen/Dense>\n", 1),
    ("includes", "calibrate/mpi.cpp", "#include <mpi.h>\n", 1),
    ("includes", "sim/cuda.cu", "#include <cuda_runtime.h>\n", 1),
    ("includes", "calibrate/nccl.cpp", "#include <nccl.h>\n", 1),
    ("includes", "cli/command.hpp", "#include <CLI/App.hpp>\n", 1),
    ("includes", "tests/cli/command_test.cpp", "#include <CLI/CLI.hpp>\n", 1),
    ("includes", "cli/proto.cpp", '#include "caffe.pb.h"\n', 1),
    ("includes", "algorithms/locked.cpp", "#include <mutex>\n", 1),
    ("includes", "misc/stray.cpp", "int x;\n", 1),
    ("format", "models/ugly.cpp", "int a;\nint   b;\n", 2),
    ("plugins", "algorithms/collectives/ring.hpp", "#pragma once\n", 1),
    ("plugins", "topologies/fabrics/generator_star.hpp", "#pragma once\n", 1),
    ("plugins", "algorithms/schedules/mute.cpp", "// kRegistered = register_schedule(x)\n", 1),
    ("plugins", "topologies/fabrics/generator_mute.cpp", "const bool kRegistered = true;\n", 1),
    ("text", "models/twice.hpp", "// #pragma once\nint x;\n", 1),
    ("text", "models/wide.cpp", "int x;\n  using namespace std;\n", 2),
    ("text", "models/json.cpp", "\nauto x = json::parse(text);\n", 2),
    ("text", "models/tab.cpp", "int x;\n\tint y;\n", 2),
    ("text", "cmake/tab.sh", "\ttrue\n", 1),
    ("text", "models/place.json", '{\n"from": "/wo' + 'rk/main/x"}\n', 2),
    ("text", "docs/place.md", "see /ho" + "me/someone/x\n", 1),
    ("text", "tests/models/out.cpp", 'f(SOURCE + "/.' + './sha' + 'red/data");\n', 1),
    ("text", "tests/models/out.py", "open('../." + "./.." + "/a')\n", 1),
    ("text", "cmake/out.cmake", "include(${CMAKE_SOURCE_DIR}/." + "./a.cmake)\n", 1),
    ("text", "docs/names.md", "\nsee `base/gone`\n", 2),
    ("text", "docs/names2.md", "`gone.hpp` is not here, `units.hpp` and `base/units` are\n", 1),
    ("text", "docs/link.md", "fine\n\n[gone](none.md)\n", 3),
    ("text", "docs/link2.md", "[built](../build/release/left.hpp)\n", 1),
    ("text", "docs/link3.md", "[a]\n\n[a]: none.md\n", 3),
    ("tidy", "models/null.cpp", "int* f();\nint* f() { return 0; }\n", 2),
]


def plant(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def run_checker(checker, root, *more):
    command = [sys.executable, str(HERE / f"check_{checker}.py"), "--root", str(root), *more]
    if checker == "tidy":
        command += ["--build", str(root / "build")]
        # Only what compiles by itself: the clean tree includes libraries that it does not have. All but
        # one are compiled as one.
        names = [name for name in (f"models/{name}.cpp" for name in (
            "null", "one", "two", "three", "four")) if (root / name).exists()]
        plant(root, {"build/Unity/unity_0_cxx.cxx": "".join(
            f'#include "{root / name}"\n\n' for name in names)})
        (root / "build" / "compile_commands.json").write_text(json.dumps([
            {"directory": str(root / "build"), "file": str(root / name),
             "command": f"g++ -std=c++20 -I'{root}' -c '{root / name}'"}
            for name in ("base/units.cpp", "build/Unity/unity_0_cxx.cxx")]))
    return subprocess.run(command, capture_output=True, text=True)


class StyleCheckers(unittest.TestCase):
    def setUp(self):
        # A space in the name: paths are not to be split.
        self._folder = tempfile.TemporaryDirectory(prefix="forescale style ")
        self.addCleanup(self._folder.cleanup)
        self.root = pathlib.Path(self._folder.name).resolve() / "tree"
        plant(self.root, CLEAN)
        for name in SETTINGS:
            shutil.copy(project.default_root() / name, self.root / name)

    def test_a_clean_tree_passes(self):
        for checker in sorted({violation[0] for violation in VIOLATIONS}):
            with self.subTest(checker):
                result = run_checker(checker, self.root)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_each_violation_is_named_with_its_line(self):
        for checker, name, content, line in VIOLATIONS:
            with self.subTest(f"{checker}: {name}"):
                plant(self.root, {name: content})
                result = run_checker(checker, self.root)
                (self.root / name).unlink()
                said = result.stdout + result.stderr
                self.assertEqual(result.returncode, 1, said)
                self.assertIn(f"{name}:{line}: ", said)
                self.assertIn(", 1 violations", said)

    def test_names_of_two_tests_are_named_with_both_places(self):
        header = "#pragma once\n\nnamespace forescale::testing {\n\ninline int share() { return 1; }\n\n}\n"
        plant(self.root, {
            "tests/sim/one.hpp": header, "tests/sim/two.hpp": header,
            "tests/sim/one_test.cpp": '#include "tests/sim/one.hpp"\n', "tests/sim/two_test.cpp":
            '#include "tests/sim/two.hpp"\n\nnamespace {\n\nint once() { return 1; }\n\n}  // namespace\n'})
        said = run_checker("names", self.root).stdout
        self.assertIn("tests/sim/two.hpp:5: share is a name of tests/sim/one.hpp:5 too", said)
        self.assertIn("tests/sim/two_test.cpp:5: once is a name of tests/sim/moon_test.cpp:5 too", said)
        self.assertIn(", 2 violations", said)

    def test_tidy_rechecks_what_changed_only(self):
        self.assertIn("1 checked now, 0 unchanged", run_checker("tidy", self.root).stdout)
        self.assertIn("0 checked now, 1 unchanged", run_checker("tidy", self.root).stdout)
        plant(self.root, {"base/units.hpp": CLEAN["base/units.hpp"] + "int more();\n"})
        self.assertIn("1 checked now, 0 unchanged", run_checker("tidy", self.root).stdout)

    def test_tidy_tells_files_of_a_group_apart(self):
        # The same names for different things, hidden and not, an enumeration, a borrowed name; and
        # one whose group does not compile because a macro of another says otherwise.
        def source(number, use):
            return ("#include <string>\n#include <vector>\n\nnamespace forescale {\n"
                    f"int tell{number}();\nnamespace {{\n\nusing std::string;\n"
                    f"enum Known {{ kFirst = {number} }};\nstruct Part {{\n  int a{number} = 0;\n}};\n"
                    f"int helper(Part part) {{ return part.a{number} + kFirst; }}\n\n"
                    f"}}  // namespace\nint tell{number}() {{ {use} }}\n}}  // namespace forescale\n")
        right = "string s; return helper(Part{}) + kFirst + static_cast<int>(s.size());"
        wrong = "int* p = 0; return p == nullptr ? helper(Part{}) : 1;"
        plant(self.root, {"models/one.cpp": source(1, right), "models/two.cpp": source(2, wrong),
                          "models/three.cpp": "#define helper 3\nint three();\nint three() { return helper; }\n",
                          "models/four.cpp": source(4, right)})
        result = run_checker("tidy", self.root)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("models/two.cpp:16: ", result.stdout)
        self.assertIn(", 1 violations", result.stdout)
        plant(self.root, {"models/two.cpp": source(2, right)})
        result = run_checker("tidy", self.root)
        self.assertEqual(result.returncode, 0, result.stdout)


# A ctest: one test skipped for a reason, then its closing lines.
FAKE_CTEST = """
import sys
reason, status = sys.argv[1], int(sys.argv[2])
open(sys.argv[sys.argv.index("--output-junit") + 1], "w").write(
    '<testsuite><testcase name="a.B" status="run"/><testcase name="a.C" status="notrun"><skipped/>'
    f"<system-out>a_test.cpp:3: Skipped\\n{reason}\\n\\n[  SKIPPED ] a.C</system-out></testcase>"
    "</testsuite>")
print("1/2 Test #1: a.B ... Passed")
print("100% tests passed, 0 tests failed out of 2\\n\\nTotal Test time (real) = 1.00 sec")
sys.exit(status)
"""


class Skips(unittest.TestCase):
    def run_skips(self, reason, status):
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder, "ctest.py")
            fake.write_text(FAKE_CTEST)
            return subprocess.run(
                [sys.executable, str(HERE.parent / "skips.py"), str(pathlib.Path(folder, "r.xml")),
                 sys.executable, str(fake), reason, str(status)], capture_output=True, text=True)

    def test_a_listed_reason_passes_and_the_closing_lines_are_last(self):
        result = self.run_skips("forescale: --gpu: no GPU was found", 0)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("skipped: 1 tests\n  a.C: needs a GPU: forescale: --gpu: no GPU", result.stdout)
        self.assertTrue(result.stdout.endswith("out of 2\n\nTotal Test time (real) = 1.00 sec\n"))

    def test_another_reason_fails(self):
        result = self.run_skips("no sample", 0)
        self.assertEqual(result.returncode, 1)
        self.assertIn("a.C: NOT A REASON OF tests/skips.py: no sample", result.stdout)

    def test_what_ctest_answers_stays(self):
        self.assertEqual(self.run_skips("forescale: --gpu: no GPU was found", 8).returncode, 8)


if __name__ == "__main__":
    unittest.main()
