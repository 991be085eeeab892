// SPDX-License-Identifier: Apache-2.0
// Compares the results of the models of models/zoo/small_forms.h on the device with those on the CPU.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/gpu_check/checks.h"
#include "bench/gpu_check/subject.h"
#include "common/status_macros.h"
#include "models/zoo/small_forms.h"

namespace vitrine {
namespace {

// A SmallForm on the CPU and on the device, with images.
struct Compared {
  const Subject& subject;
  const Backend& cpu;
  const Backend& card;
  const std::vector<FloatArray>& images;
  int64_t classes() const { return subject.description().outputs(); }
};

// Checks that an image's logits are bit-identical if the image is computed alone, in a batch, in the same batch again,
// and in a batch with another order.
absl::StatusOr<std::vector<float>> CheckBits(const Compared& compared) {
  const auto& [subject, cpu, card, images] = compared;
  const int64_t classes = compared.classes();
  std::vector<float> alone, reversed_alone;
  std::vector<size_t> reversed;
  for (size_t i = 0; i < images.size(); ++i) {
    const size_t place[] = {i};
    ASSIGN_OR_RETURN(const std::vector<float> logits, LogitsOf(card, classes, images, place));
    alone.insert(alone.end(), logits.begin(), logits.end());
    reversed_alone.insert(reversed_alone.begin(), logits.begin(), logits.end());
    reversed.insert(reversed.begin(), i);
  }
  for (const char* const what : {"in a batch", "in the same batch again"}) {
    ASSIGN_OR_RETURN(const std::vector<float> together, LogitsOfAll(card, classes, images));
    if (!SameBits(together, alone)) return absl::InternalError(absl::StrCat("other bits ", what, " than alone"));
  }
  reversed.push_back(reversed.front());  // repeats the first image of the batch
  for (int64_t i = 0; i < classes; ++i) reversed_alone.push_back(reversed_alone[static_cast<size_t>(i)]);
  ASSIGN_OR_RETURN(const std::vector<float> others, LogitsOf(card, classes, images, reversed));
  if (!SameBits(others, reversed_alone)) return absl::InternalError("other bits in a batch of another order");
  return alone;
}

struct TapErrors {
  double attention = 0, tokens = 0;
};

absl::Status Compare(const FloatArray& card, const FloatArray& cpu, double& largest) {
  if (card.shape != cpu.shape) return absl::InternalError("a tapped array has another shape than the CPU's");
  largest = std::max(largest, Apart(card.values, cpu.values));
  return absl::OkStatus();
}

// Compares results of the device with the CPU's: the attention of the last image, and the tokens of all stages.
absl::StatusOr<TapErrors> CheckTaps(const Compared& compared, const std::vector<float>& logits) {
  const auto& [subject, cpu, card, images] = compared;
  const int image = static_cast<int>(images.size()) - 1;
  const std::vector<AttentionAbility::Offer> offers = subject.description().attention().offers;
  const int stages = static_cast<int>(subject.description().program().stages().size());
  AttentionTap of_card, of_cpu;
  TokenTap tokens_of_card, tokens_of_cpu;
  for (const AttentionAbility::Offer& offer : offers) {
    for (int layer = 0; layer < offer.layers; ++layer) {
      for (AttentionTap* const tap : {&of_card, &of_cpu}) tap->Request(image, offer.source, layer);
    }
  }
  for (int stage = TokenTap::kFinal; stage < stages; ++stage) {
    for (TokenTap* const tap : {&tokens_of_card, &tokens_of_cpu}) tap->Request(stage);
  }
  ASSIGN_OR_RETURN(const std::vector<float> tapped,
                   LogitsOfAll(card, compared.classes(), images, &of_card, &tokens_of_card));
  if (!SameBits(tapped, logits)) return absl::InternalError("the taps changed the logits");
  RETURN_IF_ERROR(LogitsOfAll(cpu, compared.classes(), images, &of_cpu, &tokens_of_cpu).status());
  TapErrors errors;
  for (int stage = TokenTap::kFinal; stage < stages; ++stage) {
    const TokenTap::Tokens *const a = tokens_of_card.Find(stage), *const b = tokens_of_cpu.Find(stage);
    if ((a == nullptr) != (b == nullptr)) return absl::InternalError(absl::StrCat("no tokens of stage ", stage));
    if (a != nullptr) RETURN_IF_ERROR(Compare(a->data, b->data, errors.tokens));
  }
  for (const AttentionAbility::Offer& offer : offers) {
    for (int layer = 0; layer < offer.layers; ++layer) {
      const auto *const a = of_card.Find(image, offer.source, layer), *const b =
                                                                          of_cpu.Find(image, offer.source, layer);
      if (a == nullptr || b == nullptr) return absl::InternalError(absl::StrCat("no attention of layer ", layer));
      for (const auto member : {&AttentionTap::Matrices::scores, &AttentionTap::Matrices::weights,
                                &AttentionTap::Matrices::queries, &AttentionTap::Matrices::keys}) {
        RETURN_IF_ERROR(Compare(a->*member, b->*member, errors.attention));
      }
    }
  }
  return errors;
}

// A form without normalisation layers loses more accuracy in bf16 and int8. Its error on the device may be kBeyondCpu
// times its error on the CPU, but at most kBeyondTolerance times the tolerance.
constexpr double kBeyondCpu = 1.5, kBeyondTolerance = 2;

// Returns the error of the CPU's engine in a precision; `expected` are the logits in fp32.
absl::StatusOr<double> ErrorOfCpu(const Compared& compared, Precision precision, std::span<const float> expected) {
  ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> cpu, compared.subject.OnCpu(precision));
  ASSIGN_OR_RETURN(const std::vector<float> logits, LogitsOfAll(*cpu, compared.classes(), compared.images));
  return Apart(logits, expected);
}

absl::StatusOr<std::string> CheckForm(const CheckSetting& setting, const SmallForm& form) {
  ASSIGN_OR_RETURN(const Subject subject, Subject::Make(form.config));
  const int h = form.height, w = form.width;
  const std::pair<int, int> sizes[] = {{h, w}, {2 * h, w}, {h, 2 * w}, {2 * h, 3 * w}, {h, w / 2}};
  std::vector<FloatArray> images = subject.Images(sizes);
  if (images.size() == 1) images = subject.Images(std::vector(3, std::pair(h, w)));
  ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> cpu, subject.OnCpu());
  ASSIGN_OR_RETURN(const std::vector<float> expected, LogitsOfAll(*cpu, form.config.classes(), images));
  std::string figures, faults;
  for (const Precision precision : kPrecisions) {
    ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> card, subject.OnCard(setting, precision, images));
    const Compared compared = {subject, *cpu, *card, images};
    ASSIGN_OR_RETURN(const std::vector<float> logits, CheckBits(compared));
    ASSIGN_OR_RETURN(const TapErrors taps, CheckTaps(compared, logits));
    const double error = Apart(logits, expected);
    absl::StrAppendFormat(&figures, "%s %.1e, ", Name(precision), error);
    if (!(error <= ToleranceOf(precision))) {
      ASSIGN_OR_RETURN(const double of_cpu, ErrorOfCpu(compared, precision, expected));
      const double allowed =
          std::clamp(kBeyondCpu * of_cpu, ToleranceOf(precision), kBeyondTolerance * ToleranceOf(precision));
      absl::StrAppendFormat(&figures, "on the CPU %.1e, ", of_cpu);
      if (!(error <= allowed)) absl::StrAppendFormat(&faults, "%s allows %.1e; ", Name(precision), allowed);
    }
    if (precision != Precision::kFp32) continue;
    absl::StrAppendFormat(&figures, "attention %.1e, tokens %.1e, ", taps.attention, taps.tokens);
    if (!(std::max(taps.attention, taps.tokens) <= ToleranceOf(precision))) faults += "the taps are off; ";
  }
  absl::StrAppend(&figures, "bits equal in any company; ", images.size(), " images");
  if (faults.empty()) return figures;
  return absl::InternalError(faults + figures);
}

}  // namespace

void CheckForms(const CheckSetting& setting, CheckReport& report) {
  std::vector<SmallForm> forms = SmallForms();
  for (const SmallForm& form : SmallPrefixForms()) forms.push_back(form);
  for (SmallForm& form : SmallKvForms()) forms.push_back(std::move(form));
  std::vector<std::string> unknown = setting.forms;
  for (const SmallForm& form : forms) {
    if (std::erase(unknown, form.name) == 0 && !setting.forms.empty()) continue;
    report.Run(form.name, [&] { return CheckForm(setting, form); });
  }
  for (const std::string& name : unknown) {
    report.Run(name, []() -> absl::StatusOr<std::string> { return absl::NotFoundError("there is no such form"); });
  }
}

}  // namespace vitrine
