// Asks what the command line asks too, and prints what test.py compares: one number a line.
#include <cstdio>
#include <forescale/forescale.hpp>
#include <string>

namespace {

namespace fl = forescale::library;

void print(const char* name, double value) { std::printf("%s %.17g\n", name, value); }

template <class E>
void print_error(const char* name, const fl::Question& question) {
  try {
    fl::predict(question);
    std::printf("%s none\n", name);
  } catch (const E& error) {
    std::printf("%s %s\n", name, error.what());
  }
}

}  // namespace

int main() {
  const fl::Question training = {{"platform", {"kesch"}},
                                 {"model", {"googlenet"}},
                                 {"batch", {"1024"}},
                                 {"system", {"s-caffe-obr-hr"}},
                                 {"gpus", {"16,32"}}};
  const fl::Training answer = fl::predict(training);
  for (const fl::TrainingPoint& point : answer.points) {
    print("iteration", point.iteration_s);
    print("low", point.low_s.value_or(0));
    print("high", point.high_s.value_or(0));
    print("bound", point.bound_s);
  }
  std::printf("command %s\n", answer.command.c_str());
  const std::vector<fl::CollectivePoint> sizes =
      fl::collective({{"platform", {"star:hosts=8,bandwidth=10GB/s,latency=1us"}},
                      {"plan", {"all-reduce/ring"}},
                      {"ranks", {"4,8"}},
                      {"bytes", {"64KiB,1MiB"}}},
                     fl::Ends::kNone);
  for (const fl::CollectivePoint& size : sizes) {
    print("collective", size.time_s);
    print("closed form", size.closed_form_s.value_or(0));
  }
  const fl::Training layout = fl::predict({{"platform", {"dgx-h100"}},
                                           {"model", {"llama-3-8b"}},
                                           {"sequence", {"4096"}},
                                           {"gpus", {"16"}},
                                           {"layout", {"tp=2,micro=1,global=64,zero=optimizer"}}},
                                          fl::Ends::kNone);
  print("layout", layout.points.at(0).iteration_s);
  const fl::Question on_layout = {{"platform", {"dgx-h100"}},
                                  {"model", {"llama-3-8b"}},
                                  {"gpus", {"16"}},
                                  {"sequence", {"4096"}},
                                  {"layout", {"tp=2,micro=1,global=64,zero=optimizer"}}};
  fl::Question failing = on_layout;
  failing["failures"] = {"mtbf=100h,checkpoint=60s,restart=10min,every=30min"};
  print("goodput", fl::predict(failing, fl::Ends::kNone).points.at(0).goodput);
  fl::Question left_out = on_layout;  // it would not change the answer
  left_out["message_noise"] = {"sigma=0.1"};
  print_error<fl::BadInput>("left out", left_out);
  fl::Question unknown = training;
  unknown["plattform"] = {"kesch"};
  print_error<fl::BadInput>("unknown field", unknown);
  fl::Question lost = training;
  lost["links"] = {"node1=lost"};
  print_error<fl::Unfinished>("lost", lost);
  print_error<fl::Error>("no platform", {{"model", {"alexnet"}}});
  print("fields", static_cast<double>(fl::training_fields().size()));
  return 0;
}
