// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command_line/number_check.h"
#include "models/repository/foreign/import.h"
#include "models/repository/manifest.h"
#include "models/tool/flags.h"
#include "models/tool/publish/import/model_files.h"
#include "models/tool/publish/import/pull.h"

namespace vitrine {
namespace {

// Returns a check for a flag's value. `fault_of` returns the error message for an invalid number, or "". CLI11 itself
// rejects text that is no number.
std::function<std::string(const std::string&)> NumberFor(std::string (*fault_of)(double)) {
  return [fault_of](const std::string& text) {
    double number = 0;
    return absl::SimpleAtod(text, &number) ? fault_of(number) : "";
  };
}

void AddPullOptions(CLI::App& command, CLI::Option& weights, ImportOptions& options) {
  CLI::Option* pull =
      command
          .add_option("--pull", options.pull,
                      "download the weights, config.json and licence from Hugging Face,\ninstead of WEIGHTS")
          ->type_name("hf:ORG/NAME@REVISION")
          ->check(FaultOfPull)
          ->excludes(&weights);
  command
      .add_option("--pull-from", options.pull_from,
                  absl::StrCat("base URL of a mirror of ", kPullFrom, ";\ndefault: $VITRINE_PULL_FROM or $HF_ENDPOINT"))
      ->type_name("URL")
      ->check(FaultOfUrl)
      ->needs(pull);
  command.add_option("--sha256", options.sha256, "expected SHA-256 of the file; required if the server states none")
      ->type_name("DIGEST")
      ->check(FaultOfDigest)
      ->needs(pull);
  command.callback([&options] {
    if (options.fit == "stretch" && options.crop.value_or(1) != 1) {
      throw CLI::ValidationError("--crop needs --fit crop", CLI::ExitCodes::ValidationError);
    }
    if (options.pull.empty() && options.weights.empty()) throw CLI::RequiredError("WEIGHTS or --pull");
  });
}

}  // namespace

void AddLicence(CLI::App& command, std::string& licence, const std::string& otherwise) {
  command
      .add_option("--licence", licence,
                  absl::StrCat("licence of the weights, an SPDX identifier or text;\n", otherwise))
      ->type_name("ID")
      ->check(FaultOfLicence);
}

CLI::App* AddImportCommand(CLI::App& app, ImportOptions& options) {
  CLI::App* import = app.add_subcommand("import", "publishes weights from timm, transformers or OpenCLIP");
  import->footer(absl::StrCat(
      "  vitrine-repo import staging xcit weights.safetensors --from timm --arch xcit_nano_12_p16_224 --labels "
      "names.txt\n"
      "Architectures of --from timm: ",
      absl::StrJoin(ForeignArchs(ForeignSource::kTimm), ", "),
      "\nArchitectures of --from huggingface: ", absl::StrJoin(ForeignArchs(ForeignSource::kHuggingFace), ", "),
      "\nArchitectures of --from openclip: ", absl::StrJoin(ForeignArchs(ForeignSource::kOpenClip), ", ")));
  import->add_option("DIR", options.repository, "repository to publish in; created if missing")->required();
  import->add_option("NAME", options.model, "model name to publish under")->required();
  CLI::Option* weights = import->add_option(
      "WEIGHTS", options.weights,
      "safetensors file, a shard of several, their index or their\nfolder; pickle files are rejected");
  import
      ->add_option(
          "--from", options.source,
          "library that named the tensors: timm, huggingface or\nopenclip; default: as the model's JSON file says")
      ->check(CLI::IsMember({"timm", "huggingface", "openclip"}));
  import->add_option("--arch", options.arch,
                     "name of the architecture in that library; default: as the\nmodel's JSON file says");
  import->add_option("--labels", options.labels,
                     "text file (line i: label of class i) or config.json; default:\n"
                     "labels of the model's config.json, else ImageNet-1k's");
  import
      ->add_option("--prefix", options.prefix,
                   "prefix of the tensor names to import, if the file has several\nmodels, for instance: ema_model.")
      ->type_name("NAME");
  CLI::Option* vectors =
      import
          ->add_option("--zero-shot", options.zero_shot,
                       "classify by CLIP's vectors of texts: array of NumPy with a\nvector per line of --labels")
          ->type_name("VECTORS.npy")
          ->needs("--labels");
  import
      ->add_option("--logit-scale", options.logit_scale,
                   "factor of the cosines of --zero-shot; default: the file's\nlogit_scale, or 100 if it has none")
      ->check(PositiveNumber())
      ->needs(vectors);
  AddPullOptions(*import, *weights, options);
  import->add_option("--mean", options.mean, "mean per channel, in units of [0, 1]; default: the model's")
      ->delimiter(',')
      ->expected(3)
      ->check(NumberFor(FaultOfMean));
  import->add_option("--std", options.std, "standard deviation per channel, like --mean")
      ->delimiter(',')
      ->expected(3)
      ->check(NumberFor(FaultOfStd));
  CLI::Option* crop =
      import->add_option("--crop", options.crop, "fraction of the scaled image to keep, like timm's crop_pct")
          ->check(NumberFor(FaultOfCrop));
  import->add_option("--interpolation", options.interpolation, "bilinear or bicubic")
      ->check(CLI::IsMember({"bilinear", "bicubic"}));
  import
      ->add_option(
          "--rounding", options.rounding,
          "pillow (default): round the resized image to bytes, like timm and\ntransformers; none: do not round")
      ->check(CLI::IsMember({"pillow", "none"}));
  CLI::Option* fit = import->add_option("--fit", options.fit, "for other aspect ratios: stretch or crop")
                         ->check(CLI::IsMember({"stretch", "crop"}));
  import
      ->add_option("--native", options.native,
                   "use each image's own aspect ratio and size, with MIN to MAX patches: 36-1024")
      ->type_name("MIN-MAX")
      ->check(FaultOfTokens)
      ->excludes(crop)
      ->excludes(fit);
  AddLicence(*import, options.licence, "default: stated in README.md, config.json or metadata of the weights");
  import->add_flag("--bf16", options.bf16, "store the weights in bf16, which halves their size");
  return import;
}

}  // namespace vitrine
