// Questions: every field is known wherever a question is written, read or compared.
#include "sim/ask/question.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;

using About = Question::About;

// A text that each field takes and that is not its default. A field that is added without an entry
// here fails the tests below by name.
const std::map<std::string, std::string>& samples() {
  static const std::map<std::string, std::string> texts = {
      {"platform", "kesch"},
      {"system", "s-caffe-b"},
      {"schedule", "ddp"},
      {"stack", "gloo"},
      {"model", "alexnet"},
      {"batch", "256"},
      {"scaling", "weak"},
      {"gpus", "4,16"},
      {"options", "bucket_bytes=1MiB"},
      {"plans", "reduce/cb:chain_size=4"},
      {"framework", "MXNet"},
      {"gpu_model", "v100"},
      {"precision", "fp16"},
      {"memory_format", "nhwc"},
      {"fusion", "pointwise"},
      {"cuda_graphs", "true"},
      {"throughput", "1400@64,2500@256:3%"},
      {"data", "lmdb"},
      {"placement", "random:seed=3"},
      {"noise", "sigma=0.1"},
      {"stragglers", "3:1.5"},
      {"failures", "mtbf=100h,checkpoint=60s,restart=10min"},
      {"beside", "2"},
      {"links", "node3/nic0=0.25"},
      {"message_noise", "sigma=0.1"},
      {"input_shape", "3x32x32"},
      {"sequence", "4096"},
      {"layout", "tp=2,zero=optimizer"},
      {"iterations", "7"},
      {"epoch_images", "50000"},
      {"compute_scale", "0.9134567890123457"},
      {"bytes_scale", "0.5"},
      {"progress", "thread"},
      {"plan", "broadcast/binomial"},
      {"ranks", "8"},
      {"split", "div8"},
      {"slots", "0,8,16+1,9,17"},
      {"bytes", "1000"},
      {"root", "1"},
      {"explicit_staging", "true"},
      {"whole", "true"},
      {"max_ranks", "100"},
      {"max_memory", "1000000000"},
      {"network_scale", "2"},
      {"number_scales", "models/stacks/gloo.json:/eager_limit_bytes=1.01"}};
  return texts;
}

Question with(const QuestionField& field, About about) {
  Question question{.about = about};
  field.parse(question, samples().at(field.name), field.option);
  return question;
}

std::vector<std::pair<const QuestionField*, About>> fields_by_kind() {
  std::vector<std::pair<const QuestionField*, About>> fields;
  for (const QuestionField& field : question_fields())
    for (const About about : {About::kTraining, About::kCollective})
      if (field.is_of(about)) fields.emplace_back(&field, about);
  return fields;
}

TEST(Question, FieldsHaveNamesOptionsAndHelp) {
  std::set<std::string> names;
  std::set<std::string> options;
  for (const QuestionField& field : question_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_TRUE(options.insert(field.option + (field.repeats ? " repeated" : "")).second)
        << field.option;
    EXPECT_TRUE(field.option.starts_with("--")) << field.name;
    EXPECT_FALSE(field.doc.empty()) << field.name;
    EXPECT_TRUE(field.of_training || field.of_collectives) << field.name;
    EXPECT_TRUE(samples().contains(field.name)) << field.name << " needs a sample here";
  }
}

// validate answered one claim with another one's run because a list had forgotten two fields.
TEST(Question, TwoThatDifferInOneFieldAreTwo) {
  std::set<std::string> keys;
  for (const About about : {About::kTraining, About::kCollective})
    EXPECT_TRUE(keys.insert(key_of({.about = about})).second);
  for (const auto& [field, about] : fields_by_kind())
    EXPECT_TRUE(keys.insert(key_of(with(*field, about))).second) << field->name;
}

TEST(Question, TextsReadBackAsTheyWere) {
  for (const auto& [field, about] : fields_by_kind()) {
    const Question question = with(*field, about);
    EXPECT_NE(question, Question{.about = about}) << field->name;
    Question again{.about = about};
    for (const std::string& text : field->print(question)) field->parse(again, text, "test");
    EXPECT_EQ(again, question) << field->name;
    EXPECT_TRUE(field->print({.about = about}).empty()) << field->name << ": nothing is default";
  }
}

TEST(Question, JsonReadsBackAsItWas) {
  for (const auto& [field, about] : fields_by_kind()) {
    const Question question = with(*field, about);
    Question again{.about = about};
    read_question(JsonInput::from_text(to_json(question).dump(), "q.json"), again);
    EXPECT_EQ(again, question) << field->name;
  }
}

TEST(Question, ItsCommandGivesEveryField) {
  for (const auto& [field, about] : fields_by_kind()) {
    const bool is_flag = field->repeats == QuestionField::kFlag;
    EXPECT_THAT(command_of(with(*field, about)),
                HasSubstr(" " + field->option + (is_flag ? "" : " " + samples().at(field->name))));
  }
}

TEST(Question, JsonSaysWhereItIsWrong) {
  const auto refusal = [](const std::string& text, About about) {
    try {
      Question question{.about = about};
      read_question(JsonInput::from_text(text, "q.json"), question);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal(R"({"bach": 3})", About::kTraining),
              AllOf(HasSubstr("q.json:/bach"), HasSubstr("batch")));
  EXPECT_THAT(refusal(R"({"batch": 0})", About::kTraining),
              AllOf(HasSubstr("q.json:/batch"), HasSubstr("0"), HasSubstr("must be >= 1")));
  EXPECT_THAT(refusal(R"({"scaling": "week"})", About::kTraining), HasSubstr("strong or weak"));
  EXPECT_THAT(refusal(R"({"batch": 16})", About::kCollective), HasSubstr("/batch"));
  EXPECT_THAT(refusal(R"({"number_scales": {"a.json:/b": -1}})", About::kTraining),
              AllOf(HasSubstr("/number_scales/a.json:~1b"), HasSubstr("above 0")));
}

TEST(Question, MembersOfAnObjectReplaceThoseBefore) {
  Question question{.options = {{"a", "1"}, {"b", "2"}}};
  read_question(JsonInput::from_text(R"({"options": {"b": "3", "c": 4}})", "q.json"), question);
  EXPECT_EQ(question.options,
            (std::map<std::string, std::string>{{"a", "1"}, {"b", "3"}, {"c", "4"}}));
}

}  // namespace
}  // namespace forescale
