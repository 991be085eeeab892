// SPDX-License-Identifier: Apache-2.0
#include "client/commands/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr GateMeasure kMeasures[] = {
    {"top1", GateUnit::kShare}, {"nll", GateUnit::kNumber}, {"p99", GateUnit::kDuration}, {"rate", GateUnit::kRate}};

Gate Parsed(absl::string_view text) {
  const absl::StatusOr<Gate> gate = ParseGate(text, kMeasures);
  EXPECT_TRUE(gate.ok()) << text << ": " << gate.status();
  return gate.ok() ? *gate : Gate();
}

bool Passes(absl::string_view text, std::optional<double> measured) {
  return GateResult{.gate = Parsed(text), .measured = measured}.passed();
}

TEST(ParseGate, AcceptsTheUnitsOfTheMeasures) {
  const struct {
    const char* text;
    const char* measure;
    const char* demand;
    double bound;
  } kRows[] = {{"top1>=0.78", "top1", ">=0.78", 0.78},     {"top1>=78%", "top1", ">=78%", 0.78},
               {"top1>=78.9%", "top1", ">=78.9%", 0.789},  {"top1<=.5", "top1", "<=.5", 0.5},
               {"top1>=100%", "top1", ">=100%", 1},        {"top1>0", "top1", ">0", 0},
               {" top1 >= 78 % ", "top1", ">=78 %", 0.78}, {"nll<7e-1", "nll", "<7e-1", 0.7},
               {"p99<=50ms", "p99", "<=50ms", 0.05},       {"p99<1m30s", "p99", "<1m30s", 90},
               {"rate>200", "rate", ">200", 200},          {"rate>=12.5/s", "rate", ">=12.5/s", 12.5}};
  for (const auto& row : kRows) {
    const Gate gate = Parsed(row.text);
    EXPECT_EQ(gate.measure, row.measure) << row.text;
    EXPECT_EQ(gate.demand, row.demand) << row.text;
    EXPECT_EQ(gate.bound, row.bound) << row.text << ": the bound must be exact";
  }
}

TEST(ParseGate, RefusesInvalidGatesAndListsTheMeasures) {
  const struct {
    const char* text;
    const char* says;
  } kRows[] = {
      {"", "\"\" is no gate: give a measure, one of >=, >, <=, <, and a bound, in quotes, as in 'top1>=0.78'"},
      {"top1", "\"top1\" is no gate"},
      {"top1=0.78", "\"top1=0.78\" is no gate"},
      {"0.78", "without quotes a shell reads < and > as redirections"},
      {"top2>=0.78", "\"top2\" in the gate \"top2>=0.78\" is no measure of this command"},
      {"Top1>=0.78", "\"Top1\" in"},
      {">=0.78", "\"\" in the gate \">=0.78\" is no measure"},
      {"top1=>0.78", "\"top1=\" in"},
      {"top1>=", "\"\" in the gate \"top1>=\" is no share; give 0 to 1, as in 0.78, or 0% to 100%, as in 78%"},
      {"top1>=78", "\"78\" in"},
      {"top1>==0.78", "\"=0.78\" in"},
      {"top1><0.78", "\"<0.78\" in"},
      {"top1>=101%", "is no share"},
      {"top1>=-0.1", "is no share"},
      {"top1>=-1%", "is no share"},
      {"top1>=1e1%", "is no share"},
      {"top1>=%", "is no share"},
      {"top1>=.", "is no share"},
      {"top1>=nan", "is no share"},
      {"top1>=0.5x", "is no share"},
      {"nll<=70%", "\"70%\" in the gate \"nll<=70%\" is no number of at least 0; give one as in 0.65"},
      {"nll<=-1", "is no number"},
      {"nll<=inf", "is no number"},
      {"p99<=50", "\"50\" in the gate \"p99<=50\" is no duration; give a number with a unit, as in 50ms or 1.5s"},
      {"p99<=50 ms", "is no duration"},
      {"p99<=0ms", "is no duration"},
      {"p99<=-5ms", "is no duration"},
      {"p99<=inf", "is no duration"},
      {"rate>=fast", "\"fast\" in the gate \"rate>=fast\" is no rate; give a number per second, as in 200"},
      {"rate>=200/m", "is no rate"},
      {"rate>=-1", "is no rate"}};
  for (const auto& row : kRows) {
    const absl::Status status = ParseGate(row.text, kMeasures).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(row.says), EndsWith("measures: top1, nll, p99, rate")))
        << row.text;
  }
}

TEST(Gate, PassesUpToItsBound) {
  EXPECT_TRUE(Passes("top1>=78.9%", 789.0 / 1000)) << "the bound itself must pass";
  EXPECT_FALSE(Passes("top1>78.9%", 789.0 / 1000));
  EXPECT_TRUE(Passes("top1>78.9%", 790.0 / 1000));
  EXPECT_FALSE(Passes("top1>=78.9%", 788.0 / 1000));
  EXPECT_TRUE(Passes("p99<=50ms", 0.05));
  EXPECT_FALSE(Passes("p99<50ms", 0.05));
  EXPECT_TRUE(Passes("p99<50ms", 0.049));
  EXPECT_FALSE(Passes("p99<=50ms", 0.051));
  for (const char* text : {"top1>=0", "nll<=1000", "rate>=0"}) {
    EXPECT_FALSE(Passes(text, std::nullopt)) << text << ": a gate must not pass without a value";
  }
}

TEST(Gate, DescribesMeasuredAndRequiredValue) {
  const auto miss = [](absl::string_view text, std::optional<double> measured, const std::string& remark = "") {
    return MissInWords({.gate = Parsed(text), .measured = measured, .remark = remark});
  };
  EXPECT_EQ(miss("top1>=78%", 0.779996),
            "the gate top1>=78% is missed: top1 is 77.9996 %, and 78 % or more is required");
  EXPECT_EQ(miss("nll<0.5", 0.5), "the gate nll<0.5 is missed: nll is 0.5, and less than 0.5 is required");
  EXPECT_EQ(miss("p99<=50ms", 0.0512), "the gate p99<=50ms is missed: p99 is 51.2 ms, and 50 ms or less is required");
  EXPECT_EQ(miss("rate>200/s", 180.25),
            "the gate rate>200/s is missed: rate is 180.25/s, and more than 200/s is required");
  EXPECT_EQ(miss("p99<=1s", std::nullopt, "too many requests have no answer"),
            "the gate p99<=1s is missed: p99 is not known (too many requests have no answer), and 1000 ms or less is "
            "required");
}

TEST(Gate, IsPrintedForPeopleAndPrograms) {
  const std::vector<GateResult> results = {{.gate = Parsed("top1>=78%"), .measured = 0.8},
                                           {.gate = Parsed("p99<=50ms"), .measured = 0.0625},
                                           {.gate = Parsed("rate>=5"), .remark = "no request was due"}};
  EXPECT_FALSE(AllPassed(results));
  EXPECT_TRUE(AllPassed(std::span(results).first(1)));
  EXPECT_TRUE(AllPassed({}));
  EXPECT_EQ(GatesText(results),
            "gate        top1>=78% is met: 80 %\n"
            "gate        p99<=50ms is missed: 62.5 ms\n"
            "gate        rate>=5 is missed: not known (no request was due)\n");
  EXPECT_EQ(GatesText({}), "");
  EXPECT_EQ(GatesJson(results).dump(),
            R"([{"name":"top1","required":">=78%","bound":0.78,"measured":0.8,"unit":"share","passed":true},)"
            R"({"name":"p99","required":"<=50ms","bound":50.0,"measured":62.5,"unit":"ms","passed":false},)"
            R"({"name":"rate","required":">=5","bound":5.0,"measured":null,"unit":"1/s","passed":false,)"
            R"("remark":"no request was due"}])");
}

}  // namespace
}  // namespace vitrine
