// SPDX-License-Identifier: Apache-2.0
// Every refusal has the right code and a sentence that names the fault, over a real connection.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/common/imaging/pictures.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

using ::testing::HasSubstr;

// A PNG whose header declares a size and which ends there.
std::string PngHeader(uint32_t width, uint32_t height) {
  std::string header;
  for (const uint32_t value : {width, height}) {
    for (int shift = 24; shift >= 0; shift -= 8) header.push_back(static_cast<char>(value >> shift));
  }
  header += std::string("\x08\x02\x00\x00\x00", 5);
  return "\x89PNG\r\n\x1a\n" + PngChunk("IHDR", header) + PngChunk("IDAT", "x") + PngChunk("IEND", "");
}

struct Refusal {
  std::string name;
  std::string model;
  std::function<void(v1::ClassifyRequest&)> spoil;  // invalidates a good request
  grpc::StatusCode code;
  std::vector<std::string> sentence;  // every part must appear
};

void AddAttention(v1::ClassifyRequest& request, v1::AttentionKind kind, int layer = -1) {
  v1::AttentionRequest& wish = *request.add_attention();
  wish.set_kind(kind);
  wish.add_layers(layer);
}

v1::RawTensor& SetTensor(v1::ClassifyRequest& request, int height, int width, size_t bytes) {
  v1::RawTensor& tensor = *request.mutable_tensor();
  tensor.set_data_type(v1::RawTensor::DATA_UINT8);
  tensor.set_height(height);
  tensor.set_width(width);
  tensor.set_channels(3);
  tensor.set_data(std::string(bytes, '\1'));
  return tensor;
}

std::vector<Refusal> AboutTheRequest() {
  using R = v1::ClassifyRequest;
  constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;
  return {
      {"UnknownModel", "mixed", [](R& r) { r.set_model("cats"); }, grpc::StatusCode::NOT_FOUND, {"cats"}},
      {"NoModel", "mixed", [](R& r) { r.clear_model(); }, kInvalid, {"model"}},
      {"UnknownVersion", "mixed", [](R& r) { r.set_version(9); }, grpc::StatusCode::NOT_FOUND, {"mixed", "9"}},
      {"NameOutOfTheRoot", "mixed", [](R& r) { r.set_model("../../etc"); }, kInvalid, {"etc"}},
      {"TopKZero", "mixed", [](R& r) { r.set_top_k(0); }, kInvalid, {"top_k is 0", "7 classes", "1 to 7"}},
      {"TopKTooLarge", "mixed", [](R& r) { r.set_top_k(8); }, kInvalid, {"top_k is 8", "mixed", "1 to 7"}},
      {"NoInput", "mixed", [](R& r) { r.clear_input(); }, kInvalid, {"no input"}},
      {"LongId",
       "mixed",
       [](R& r) { r.set_request_id(std::string(129, 'x')); },
       kInvalid,
       {"request_id", "129", "128"}},
      {"Priority", "mixed", [](R& r) { r.set_priority(static_cast<v1::Priority>(7)); }, kInvalid, {"priority is 7"}},
      {"Resolution", "fixed", [](R& r) { r.mutable_resolution()->set_height(32); }, kInvalid, {"fixed", "28 x 28"}},
      {"KindItLacks", "mixed", [](R& r) { AddAttention(r, v1::SCORES); }, kInvalid, {"SCORES"}},
      {"Layer", "mixed", [](R& r) { AddAttention(r, v1::CLASS_TOKEN_ROW, 2); }, kInvalid, {"layer", "2"}},
      {"MatrixOverlay",
       "fixed",
       [](R& r) {
         AddAttention(r, v1::WEIGHTS);
         r.mutable_attention(0)->set_encoding(v1::OVERLAY_PNG);
       },
       kInvalid,
       {"overlay", "WEIGHTS"}},
      {"AttentionBytes",
       "fixed",
       [](R& r) {
         AddAttention(r, v1::WEIGHTS);
         r.set_max_attention_bytes(100);
       },
       grpc::StatusCode::RESOURCE_EXHAUSTED,
       {"578 bytes", "max_attention_bytes is 100"}},
      {"AttentionLimit", "mixed", [](R& r) { r.set_max_attention_bytes(0); }, kInvalid, {"max_attention_bytes is 0"}},
      {"TensorSize", "mixed", [](R& r) { SetTensor(r, 8, 8, 191); }, kInvalid, {"191 bytes", "192"}},
      {"TensorType", "mixed", [](R& r) { SetTensor(r, 8, 8, 192).clear_data_type(); }, kInvalid, {"data_type"}},
      {"TensorSide", "mixed", [](R& r) { SetTensor(r, 0, 8, 0); }, kInvalid, {"0 x 8", "8192"}},
  };
}

std::vector<Refusal> AboutThePicture() {
  using R = v1::ClassifyRequest;
  constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;
  return {
      {"Empty", "mixed", [](R& r) { r.set_image(""); }, kInvalid, {"empty"}},
      {"NotAnImage", "mixed", [](R& r) { r.set_image("GIF89a, a cat"); }, kInvalid, {"JPEG", "PNG"}},
      {"TruncatedJpeg",
       "mixed",
       [](R& r) { r.set_image(r.image().substr(0, r.image().size() / 2)); },
       kInvalid,
       {"JPEG"}},
      {"PixelBomb", "mixed", [](R& r) { r.set_image(PngHeader(32000, 32000)); }, kInvalid, {"32000", "8192"}},
      {"SeventeenMegapixels", "mixed", [](R& r) { r.set_image(PngHeader(4150, 4100)); }, kInvalid, {"4150", "4100"}},
      {"ScanBomb",
       "mixed",
       [](R& r) { r.set_image(JpegFile(SmoothImage(64, 64, 3), {.scans = 300})); },
       kInvalid,
       {"scan"}},
  };
}

class Refusals : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new ScratchFolder();
    PublishModel(folder_->path(), "mixed", MixedConfig());
    PublishModel(folder_->path(), "fixed", FixedConfig());
    ServerOptions options = TestOptions(folder_->path());
    options.rpc.max_message_bytes = 1 << 20;
    running_ = new RunningServer(options);
  }
  static void TearDownTestSuite() {
    delete running_;
    delete folder_;
  }

  static v1::ClassifyRequest Good(const std::string& model) { return PictureRequest(model, NoiseJpeg(24, 24, 5)); }

  static void ExpectRefused(const Refusal& refusal) {
    SCOPED_TRACE(refusal.name);
    v1::ClassifyRequest request = Good(refusal.model);
    v1::ClassifyResponse response;
    ASSERT_TRUE(running_->Classify(request, &response).ok()) << "the request was bad before it was spoilt";
    refusal.spoil(request);
    const grpc::Status status = running_->Classify(request, &response);
    EXPECT_EQ(status.error_code(), refusal.code) << status.error_message();
    for (const std::string& part : refusal.sentence) EXPECT_THAT(status.error_message(), HasSubstr(part));
  }

  static ScratchFolder* folder_;
  static RunningServer* running_;
};
ScratchFolder* Refusals::folder_ = nullptr;
RunningServer* Refusals::running_ = nullptr;

TEST_F(Refusals, OfRequests) {
  for (const Refusal& refusal : AboutTheRequest()) ExpectRefused(refusal);
}

TEST_F(Refusals, OfPictures) {
  for (const Refusal& refusal : AboutThePicture()) ExpectRefused(refusal);
}

TEST_F(Refusals, AMessageOneByteOverTheLimit) {
  // Room for the picture's bytes after everything else of the message.
  v1::ClassifyRequest request = Good("mixed");
  request.set_image(std::string(1 << 20, 'x'));
  const size_t excess = request.ByteSizeLong() - (1 << 20);
  request.set_image(std::string((1 << 20) - excess, 'x'));
  ASSERT_EQ(request.ByteSizeLong(), size_t{1} << 20);
  v1::ClassifyResponse response;
  EXPECT_EQ(running_->Classify(request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT)
      << "a message at the limit is read; only its picture is wrong";
  request.mutable_image()->push_back('x');
  const grpc::Status status = running_->Classify(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("larger than max"));
}

TEST_F(Refusals, AMessageThatIsNoRequest) {
  grpc::ByteBuffer garbage;
  {
    const grpc::Slice slice("\xff\xff\xff\xff not a protobuf");
    garbage = grpc::ByteBuffer(&slice, 1);
  }
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(running_->channel());
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  grpc::ByteBuffer answer;
  grpc::Status status;
  const auto call = stub.PrepareUnaryCall(&context, "/vitrine.v1.Classifier/Classify", garbage, &queue);
  call->StartCall();
  call->Finish(&answer, &status, &status);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("ClassifyRequest"));
}

TEST_F(Refusals, DeflateIsNotTaken) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_DEFLATE);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  v1::ClassifyRequest request = Good("mixed");
  request.set_image(std::string(900 << 10, '\0'));
  v1::ClassifyResponse response;
  const grpc::Status status = running_->classifier().Classify(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("deflate"));
}

// The pixels of one caller must never fill the gaps of another's picture.
TEST_F(Refusals, ATruncatedPictureAfterAGoodOneIsRefusedAtEveryLength) {
  const std::string good = JpegFile(SmoothImage(48, 48, 3));
  const std::string other = NoiseJpeg(48, 48, 77);
  for (size_t length = 2; length < other.size() - 2; length += 1 + other.size() / 60) {
    v1::ClassifyResponse response;
    ASSERT_TRUE(running_->Classify(PictureRequest("mixed", good), &response).ok());
    const grpc::Status status = running_->Classify(PictureRequest("mixed", other.substr(0, length)), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "cut to " << length << " bytes";
  }
}

// Afterwards the service is as it was.
TEST_F(Refusals, LeaveNothingBehind) {
  v1::ClassifyResponse response;
  EXPECT_TRUE(running_->Classify(Good("mixed"), &response).ok());
  EXPECT_EQ(running_->Metric("vitrine_in_flight "), 0);
  EXPECT_EQ(running_->Metric("vitrine_requests_total{model=\"mixed\",method=\"Classify\",code=\"INTERNAL\"}"), 0);
}

}  // namespace
}  // namespace vitrine::testing
