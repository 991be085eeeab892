// SPDX-License-Identifier: Apache-2.0
// Compares stored texts with the client's output for constructed answers and models. All fields of an answer or a model
// have different values.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/commands/classify_page.h"
#include "client/commands/models/model_page.h"
#include "client/commands/models/models_admin.h"
#include "client/commands/models/models_command.h"
#include "client/commands/output/json_lines.h"
#include "client/commands/output/text.h"
#include "tests/client/lib/filled.h"
#include "tests/stored_text.h"

namespace vitrine {
namespace {

v1::ModelVersion Ready() {
  v1::ModelVersion version = Filled<v1::ModelVersion>();
  version.set_state(v1::READY);
  return version;
}

// Returns an answer with two tables of distances: a valid one, and one with a wrong number of bytes.
v1::ClassifyResponse AnswerWithDistances() {
  v1::ClassifyResponse answer = Filled<v1::ClassifyResponse>();
  v1::AttentionMap& distances = *answer.add_attention();
  distances.set_kind(v1::DISTANCE);
  distances.set_layer(-1);
  distances.set_head(0);
  distances.set_rows(2);
  distances.set_columns(3);
  distances.set_encoding(v1::UINT8);
  distances.set_scale(1);
  distances.set_values("012345");
  *answer.add_attention() = distances;
  answer.mutable_attention(answer.attention_size() - 1)->set_rows(1);
  return answer;
}

TEST(Printed, JsonLinesEqualTheStoredFile) {
  const v1::ClassifyResponse answer = AnswerWithDistances();
  v1::ClassifyResponse embedded;
  *embedded.add_features() = Filled<v1::Feature>();
  const float values[] = {1, 0.1F};
  embedded.mutable_features(0)->set_values(values, sizeof(values));
  v1::ModelVersion unnamed = Ready();
  unnamed.clear_version_labels();
  v1::ModelVersion neither = unnamed;
  neither.set_traffic_percent(0);
  neither.clear_batching();
  v1::ModelEvent event = Filled<v1::ModelEvent>();
  const absl::Time time = absl::FromUnixMillis(1'763'650'000'007);
  ExpectStored(
      "client_lines.jsonl",
      absl::StrCat(
          AnswerLine(answer, {.image = "cat.jpg"}),
          AnswerLine(answer,
                     {.image = "cat.jpg", .sent_as = Size{.height = 3, .width = 4}, .attention = {"a.png", "b.png"}}),
          AnswerLine(embedded, {.image = "cat.jpg"}), AnswerLine(embedded, {.image = "cat.jpg", .features = "a.npy"}),
          AnswerLine(embedded, {.image = "cat.jpg", .features = "a.npy", .row = 0}), ModelLine(Ready()),
          ModelLine(unnamed), ModelLine(neither), ModelDetailLine(Ready()), ModelDetailLine(neither),
          ModelEventLine(event, time)));
}

TEST(Printed, ModelPagesEqualTheStoredFile) {
  std::string pages;
  for (const int width : {20, 28, 29, 60, 100}) {
    absl::StrAppend(&pages, ModelPage(Ready(), {.width = width, .colour = width == 60}), "-----\n");
  }
  for (const int64_t bytes : {0LL, 999LL, 1000LL, 999'999LL, 1'000'000LL, 999'999'999LL, 1'000'000'000LL}) {
    v1::ModelVersion version;
    version.set_model("m");
    version.mutable_config()->set_classes(1);
    version.set_device_bytes(bytes);
    v1::BatchLimits& limits = *version.mutable_batching();
    limits.set_max_batch_images(bytes == 0 ? 1 : 2);
    limits.set_max_wait_seconds(bytes < 1000 ? 0 : 0.0015);
    v1::AttentionOffer& offer = *version.add_attention();
    offer.set_kind(v1::SCORES);
    offer.set_layers(bytes == 0 ? 1 : 2);
    offer.set_heads(bytes == 999 ? 1 : 3);
    for (const double value : {-0.1, 0.0, 1.0, 1.1}) {
      v1::Metric& metric = *version.mutable_provenance()->add_metrics();
      metric.set_name("top1");
      metric.set_value(value);
      metric.set_images(bytes == 0 ? 1 : bytes);
    }
    absl::StrAppend(&pages, ModelPage(version, {.width = 200}), "-----\n");
  }
  ExpectStored("client_model_pages.txt", pages);
}

TEST(Printed, ModelTablesEqualTheStoredFile) {
  v1::ListModelsResponse list;
  *list.add_versions() = Ready();
  for (const v1::ModelState state : {v1::LOADING, v1::RETIRING, v1::FAILED, v1::READY, v1::READY, v1::READY}) {
    v1::ModelVersion& version = *list.add_versions();
    version.set_model("model");
    version.set_version(list.versions_size());
    version.set_state(state);
    if (state == v1::FAILED) version.set_reason("it does not compute what it computed when it was made");
  }
  // The output must omit default labels and traffic shares.
  list.mutable_versions(5)->add_version_labels("stable");
  list.mutable_versions(5)->set_traffic_percent(100);
  list.mutable_versions(6)->add_version_labels("stable");
  list.mutable_versions(6)->set_traffic_percent(95);
  list.mutable_versions(4)->set_traffic_percent(5);
  std::string tables;
  for (const int width : {40, 80, 120, 160, 200}) {
    absl::StrAppend(&tables, ModelsTable(list, {.width = width, .colour = width == 160}), "-----\n");
  }
  ExpectStored("client_models.txt", tables);
}

TEST(Printed, ServingTextsEqualTheStoredFile) {
  v1::ModelServingStatus full = Filled<v1::ModelServingStatus>();
  full.set_unloaded(false);
  full.set_memory_bytes(123'456'789);
  full.mutable_versions(0)->set_device_bytes(49'900'000);
  full.mutable_serving()->mutable_version_policy()->set_latest(2);
  v1::ModelServingStatus unloaded = full, specific = full, all = full, newest = full;
  unloaded.set_unloaded(true);
  unloaded.set_stable_version(0);
  specific.mutable_serving()->mutable_version_policy()->mutable_specific()->add_versions(3);
  specific.mutable_serving()->mutable_version_policy()->mutable_specific()->add_versions(7);
  specific.set_stable_version(0);
  all.mutable_serving()->mutable_version_policy()->set_all(true);
  all.set_changed_by_admin(false);
  newest.mutable_serving()->mutable_version_policy()->set_latest(1);
  newest.clear_versions();
  newest.mutable_canaries(0)->set_compared(0);
  newest.mutable_canaries(0)->set_golden_drift(-1);
  newest.mutable_canaries(1)->set_golden_drift(0);
  newest.mutable_canaries(1)->set_compared(1);
  v1::ModelVersion& plain = *newest.add_versions();
  plain.set_version(1);
  plain.set_state(v1::READY);
  plain.set_traffic_percent(2.5);
  *newest.add_versions() = plain;
  newest.mutable_versions(1)->set_state(v1::FAILED);
  newest.mutable_versions(1)->set_device_bytes(1);
  std::string text;
  for (const v1::ModelServingStatus& one : {full, unloaded, specific, all, newest}) {
    absl::StrAppend(&text, ServingText(one), "-----\n");
  }
  ExpectStored("client_serving.txt", text);
}

TEST(Printed, ClassificationPagesEqualTheStoredFile) {
  const v1::ClassifyResponse answer = AnswerWithDistances();
  std::string pages;
  for (const int width : {30, 60, 90, 120, 150}) {
    for (const int overlay : {0, 12}) {
      ClassifyPage page({.width = width, .colour = width == 90},
                        {.images = {"a/rather/long/path/to/cat.jpg"},
                         .labels = {"cat", "a label that is much longer than any that is shown"},
                         .predictions = 2,
                         .overlay_width = overlay});
      pages += page.Header();
      pages += page.Text("cat.jpg", answer, {});
      pages += page.Text("a/rather/long/path/to/cat.jpg", answer, {"one.png", "two.png"});
      v1::ClassifyResponse other = answer;
      other.mutable_timings()->set_total(0.9994F);
      other.mutable_served_by()->set_version(1);
      for (uint64_t id = 1; id <= (overlay == 0 ? 5 : 6); ++id) {
        other.mutable_batch()->set_id(id);
        other.mutable_batch()->set_images(static_cast<int>(id));
        other.mutable_batch()->set_grids(static_cast<int>(id));
        other.mutable_batch()->set_tokens(static_cast<int>(id));
        page.Text("cat.jpg", other, {});
      }
      pages += page.Text("cat.jpg", other, {});
      absl::StrAppend(&pages, page.Footer(absl::Milliseconds(width * 10)), "-----\n");
    }
  }
  ExpectStored("client_classified.txt", pages);
}

std::string Utf8(uint32_t point) {
  constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  const int more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  std::string bytes(1, static_cast<char>(kLead[more] | point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) bytes += static_cast<char>(0x80 | (point >> (6 * i) & 0x3F));
  return bytes;
}

// Lists the code points at which the display width or the printed form changes.
TEST(Printed, CharacterWidthsEqualTheStoredFile) {
  std::string ranges, before;
  for (uint32_t point = 0; point < 0x110000; ++point) {
    const std::string character = Utf8(point), shown = Printable(character);
    const std::string now =
        absl::StrCat("width ", DisplayWidth(character), shown == character ? "" : ", shown as " + shown);
    if (now != before) absl::StrAppend(&ranges, absl::Hex(point, absl::kZeroPad4), ": ", now, "\n");
    before = now;
  }
  ExpectStored("characters.txt", ranges);
}

}  // namespace
}  // namespace vitrine
