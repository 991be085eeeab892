// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/describe.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/charts/roofline.h"
#include "common/status_macros.h"
#include "models/families/family.h"
#include "models/tool/describe/gpu_bound.h"
#include "models/tool/describe/graph/layers.h"
#include "models/tool/describe/graph/program_json.h"
#include "models/tool/describe/graph/svg.h"
#include "models/tool/describe/measure.h"
#include "models/tool/describe/review.h"
#include "models/tool/describe/steps.h"
#include "models/tool/describe/subject.h"
#include "models/workload/conventions.h"

namespace vitrine {
namespace {

struct Description {
  explicit Description(program::Program of) : program(std::move(of)) {}

  program::Program program;
  Workload published;
  std::vector<Layer> layers;
  std::optional<Measurement> measured;
  std::vector<StepGroup> steps;  // measured steps
  double other_load = 0;         // load average of the machine in the minute before the measurement

  // Returns true if the measured times contradict each other, which happens if other programs use the CPU.
  bool Busy() const { return measured && measured->Disagree(); }
  bool Loaded() const { return other_load >= 0.5; }
  bool Doubtful() const { return Busy() || Loaded() || (measured && !measured->rounds.steady); }
};

double LoadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

// Returns text that states how reliable the times are, for the chart, the table and the JSON.
std::string Circumstances(const Description& description) {
  std::vector<std::string> parts;
  if (description.measured) {
    const Rounds& rounds = description.measured->rounds;
    parts.push_back(absl::StrCat(rounds.steady ? "steady after " : "NOT STEADY after ", rounds.done, " rounds"));
  }
  if (description.Busy()) {
    parts.push_back(absl::StrFormat("measured on a busy machine: the steps took %.1f times the whole pass",
                                    description.measured->SumOfSteps() / description.measured->whole));
  }
  if (description.Loaded()) {
    const int64_t cpus = sysconf(_SC_NPROCESSORS_ONLN);
    parts.push_back(
        absl::StrFormat("load average %.1f on %d CPU%s", description.other_load, cpus, cpus == 1 ? "" : "s"));
  }
  return absl::StrJoin(parts, "; ");
}

absl::Status Measure(const Subject& subject, const DescribeOptions& options, Description& description) {
  std::cerr << "vitrine-repo: measuring the peaks of a core, then the steps of a forward pass\n";
  const std::vector<const float*> weights = PointersTo(subject.model);
  ASSIGN_OR_RETURN(description.measured,
                   MeasureForward(description.program, weights, subject.config().preprocessing().channels(),
                                  subject.input, ParsePrecision(options.precision).value_or(Precision::kFp32)));
  description.steps = GroupsOf(*description.measured, options.every_layer);
  return absl::OkStatus();
}

void WarnOfDoubt(const Description& description) {
  if (!description.Doubtful()) return;
  std::cerr << "vitrine-repo: " << Circumstances(description)
            << (description.measured ? "; these times" : "; the measured roofs")
            << " are unreliable, measure again when no other program runs\n";
}

int64_t TotalFlops(const std::vector<Layer>& layers) {
  int64_t flops = 0;
  for (const Layer& layer : layers) flops += layer.count * FlopsOf(layer.op);
  return flops;
}

double TotalBound(const Measurement& measured) {
  double seconds = 0;
  for (const StepProfile& step : measured.steps) seconds += BoundOf(step, measured.peaks);
  return seconds;
}

int64_t ExecutedMacs(const Description& description) {
  int64_t macs = 0;
  for (const Layer& layer : description.layers) macs += layer.count * layer.op.macs;
  return macs;
}

std::string InputInWords(const Subject& subject) {
  const WorkloadInput& input = subject.input;
  return absl::StrCat(input.images, " x ", input.height, "x", input.width, " pixels, ",
                      TokensOf(subject.config(), input), " tokens each");
}

std::string Heading(const Subject& subject, const Description& description) {
  std::string text =
      absl::StrCat(subject.name, ": ", InputInWords(subject), "\n", WithSeparators(Parameters(description.published)),
                   " parameters; multiply-adds ", WithSeparators(Macs(description.published)), " as published, ",
                   WithSeparators(ExecutedMacs(description)), " as executed; ",
                   WithSeparators(TotalFlops(description.layers)), " FLOPs executed\n");
  return text + "\n";
}

// Lists the peaks that the CPU supports: "117 GFLOP/s of fp32, 233 of bf16, 466 of int8".
std::string PeaksInWords(const CorePeaks& peaks) {
  std::string words = absl::StrFormat("%.0f GFLOP/s of fp32", peaks.gflops);
  for (const Precision precision : {Precision::kBf16, Precision::kInt8}) {
    const double gflops = peaks.GflopsOf(precision);
    if (gflops > 0) absl::StrAppendFormat(&words, ", %.0f of %s", gflops, Name(precision));
  }
  return words;
}

// Returns the measured steps as text; "" without a measurement.
std::string MeasuredInWords(const Description& description) {
  if (!description.measured) return "";
  const Measurement& measured = *description.measured;
  return absl::StrCat(
      absl::StrFormat("\nThe CPU engine on one core, %s, in %s: %s of multiply-adds, %.0f GB/s from the L2 cache, "
                      "%.1f GB/s from memory (all measured now)\n\n",
                      measured.path, Name(measured.precision), PeaksInWords(measured.peaks), measured.peaks.cache_gbps,
                      measured.peaks.memory_gbps),
      StepTable(description.steps, measured).Print(OutputFormat::kTable), "\n", Circumstances(description),
      description.Doubtful() ? "; THESE TIMES ARE UNRELIABLE, measure again when no other program runs" : "",
      absl::StrFormat("\nsum of the steps %.3f ms, sum of their bounds %.3f ms; whole forward pass %.3f ms\n",
                      1e3 * measured.SumOfSteps(), 1e3 * TotalBound(measured), 1e3 * measured.whole),
      "A step is an operator and the operators fused into it, for all images; US is its shortest time.\n"
      "BOUND US is the roofline's lower bound: multiply-adds at the core's peak, or bytes from the L2 cache.\n");
}

nlohmann::ordered_json AsJson(const Subject& subject, const Description& description, const DataTable& layers) {
  const WorkloadInput& input = subject.input;
  nlohmann::ordered_json json = {
      {"model", subject.name},
      {"input", {{"images", input.images}, {"height", input.height}, {"width", input.width}}},
      {"tokens", TokensOf(subject.config(), input)},
      {"parameters", Parameters(description.published)},
      {"macs", Macs(description.published)},
      {"executed_macs", ExecutedMacs(description)},
      {"executed_flops", TotalFlops(description.layers)}};
  if (description.measured) {
    const Measurement& measured = *description.measured;
    json["machine"] = {{"path", measured.path},
                       {"precision", Name(measured.precision)},
                       {"gflops", measured.peaks.gflops},
                       {"bf16_gflops", measured.peaks.bf16_gflops},
                       {"int8_gflops", measured.peaks.int8_gflops},
                       {"cache_gigabytes_per_second", measured.peaks.cache_gbps},
                       {"memory_gigabytes_per_second", measured.peaks.memory_gbps}};
    json["sum_seconds"] = measured.SumOfSteps();
    json["bound_seconds"] = TotalBound(measured);
    json["forward_seconds"] = measured.whole;
    json["busy_machine"] = description.Busy();
    json["other_load"] = description.other_load;
    json["rounds"] = measured.rounds.done;
    json["steady"] = measured.rounds.steady;
    json["steps"] = StepTable(description.steps, measured).AsJson();
  }
  json["operators"] = layers.AsJson();
  json["program"] = ProgramJson(description.program);
  if (InReview(subject.config())) json["review"] = ReviewTable(subject.config(), input).AsJson();
  return json;
}

absl::Status WriteDrawing(const std::string& file, const std::string& svg) {
  std::ofstream out(file, std::ios::binary);
  out << svg;
  out.close();
  if (!out) return absl::UnavailableError(absl::StrCat(file, " could not be written"));
  std::cerr << "vitrine-repo: wrote " << file << "\n";
  return absl::OkStatus();
}

absl::Status WritePlot(const std::string& file, const Subject& subject, const Description& description) {
  const bool measured = description.measured.has_value();
  const CorePeaks peaks = measured ? description.measured->peaks : PeaksOfThisCore();
  Roofline roofline;
  roofline.title = absl::StrCat("Roofline of ", subject.name);
  roofline.subtitle = InputInWords(subject);
  if (measured) {
    roofline.subtitle += absl::StrFormat("; %.2f ms per forward pass, one core", 1e3 * description.measured->whole);
  }
  roofline.circumstances = Circumstances(description);
  roofline.doubtful = description.Doubtful();
  roofline.peak_of = "multiply-adds";
  roofline.peak_gflops = peaks.GflopsOf(measured ? description.measured->precision : Precision::kFp32);
  roofline.bandwidth_of = "L2 cache";
  roofline.gigabytes_per_second = peaks.cache_gbps;
  roofline.measured = measured;
  roofline.points =
      measured ? PointsOf(description.steps, *description.measured) : PointsAtTheirBound(description.layers, peaks);
  return WriteDrawing(file, RooflineSvg(roofline));
}

// Draws the operators of Form::kPublished, because in Form::kExecuted equal blocks would look different. Shows the
// sizes for one image, whatever the batch size.
absl::Status WriteGraph(const std::string& file, const Subject& subject, const Description& description) {
  const WorkloadInput one = {subject.input.height, subject.input.width};
  Graph graph;
  graph.title = subject.name;
  graph.panels = PanelsOf(description.program, one);
  int64_t macs = 0;
  for (const GraphPanel& panel : graph.panels) macs += panel.depth() * panel.macs();
  graph.subtitle = absl::StrCat("Input of ", one.height, "x", one.width, " pixels; ",
                                WithSeparators(Parameters(description.published)), " parameters; ",
                                WithSeparators(macs), " multiply-adds as published");
  graph.caption =
      "Shapes are for one image. Multiply-adds count matrix products and convolutions in the published form: "
      "everything that the paper's code computes. x + y: trunk plus the output of a branch.";
  return WriteDrawing(file, GraphSvg(graph));
}

void PrintReview(const Subject& subject) {
  const v1::ModelConfig& config = subject.config();
  std::cout << "\nThe review paper's operator tables for this model, as printed and as corrected (N patches, b images, "
               "d width, a heads, V classes):\n\n"
            << ReviewTable(config, subject.input).Print(OutputFormat::kTable) << "\n"
            << ReviewTotals(config, subject.input);
}

absl::Status PrintGpuBound(const Subject& subject, const program::Program& program, const DescribeOptions& options) {
  const Gpu* const gpu = FindGpu(options.device);
  if (gpu == nullptr) return absl::InvalidArgumentError(absl::StrCat("--device ", options.device, " is unknown"));
  const int channels = subject.config().preprocessing().channels();
  ASSIGN_OR_RETURN(const std::vector<StepWork> steps,
                   WorkOnGpu(program, channels, subject.input,
                             ParsePrecision(options.precision).value_or(Precision::kFp32), options.every_layer));
  const DataTable table = BoundTable(steps, *gpu);
  if (options.format != OutputFormat::kTable) {
    std::cout << table.Print(options.format);
    return absl::OkStatus();
  }
  std::cout << subject.name << ": " << InputInWords(subject) << "\n\n"
            << table.Print(options.format) << BoundInWords(steps, *gpu, channels, subject.input);
  return absl::OkStatus();
}

}  // namespace

absl::Status DescribeCommand(const DescribeOptions& options) {
  // The tables of paper 003 have no times. If the output has only these tables, no measurement is needed.
  const bool measure =
      options.measure && !(options.paper && options.format == OutputFormat::kCsv && options.out.empty());
  ASSIGN_OR_RETURN(Subject subject, FindSubject(options.model, options.repository, measure));
  if (!options.resolution.empty()) {
    ASSIGN_OR_RETURN(subject.input, ParseResolution(options.resolution));
  }
  subject.input.images = options.batch;
  RETURN_IF_ERROR(GridOf(subject).status());
  const v1::ModelConfig& config = subject.config();
  if (options.paper && !InReview(config)) {
    return absl::InvalidArgumentError(absl::StrCat(
        subject.name, " is not a ViT with a feed-forward block four times as wide; --paper ", "supports only these"));
  }
  ASSIGN_OR_RETURN(program::Program program, ProgramOf(config));
  if (!options.device.empty()) return PrintGpuBound(subject, program, options);
  Description description(std::move(program));
  ASSIGN_OR_RETURN(description.published, WorkloadOf(config, subject.input, Form::kPublished));
  ASSIGN_OR_RETURN(const Workload executed, WorkloadOf(config, subject.input, Form::kExecuted));
  description.layers = LayersOf(executed, options.every_layer);
  if (!options.out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
    if (error) return absl::UnavailableError(absl::StrCat("--out ", options.out, ": ", error.message()));
    RETURN_IF_ERROR(WriteGraph(options.out + "/program.svg", subject, description));
  }
  if (measure || !options.out.empty()) description.other_load = LoadAverage();
  if (measure) RETURN_IF_ERROR(Measure(subject, options, description));
  WarnOfDoubt(description);
  if (!options.out.empty()) RETURN_IF_ERROR(WritePlot(options.out + "/roofline.svg", subject, description));
  const DataTable layers = LayerTable(description.layers);
  switch (options.format) {
    case OutputFormat::kJson:
      std::cout << AsJson(subject, description, layers).dump(2) << "\n";
      break;
    case OutputFormat::kCsv:
      std::cout << (options.paper ? ReviewTable(config, subject.input) : layers).Print(OutputFormat::kCsv);
      break;
    case OutputFormat::kTable:
      std::cout << Heading(subject, description) << layers.Print(OutputFormat::kTable) << MeasuredInWords(description);
      if (options.paper || InReview(config)) PrintReview(subject);
      break;
  }
  return absl::OkStatus();
}

}  // namespace vitrine
