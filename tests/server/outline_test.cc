// SPDX-License-Identifier: Apache-2.0
// What is read of a request that will be refused.
#include "server/wire/rpc/outline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "server/process/shed.h"
#include "server/wire/rpc/wire.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

// As the transport cuts a message: in slices of so many bytes.
grpc::ByteBuffer Sliced(const std::string& text, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < text.size(); at += slice_bytes) slices.emplace_back(text.substr(at, slice_bytes));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

v1::ClassifyRequest Picture(size_t bytes) {
  v1::ClassifyRequest request;
  request.set_model("m");
  request.set_request_id("7");
  request.set_priority(v1::HIGH);
  request.set_top_k(2);
  std::string image = NoisePng(8, 8, 1);
  image.resize(bytes, '.');
  request.set_image(image);
  return request;
}

v1::ClassifyRequest Tensor() {
  v1::ClassifyRequest request;
  request.set_model("m");
  request.set_top_k(2);
  v1::RawTensor& tensor = *request.mutable_tensor();
  tensor.set_data_type(v1::RawTensor::DATA_FLOAT32);
  tensor.set_layout(v1::RawTensor::CHW);
  tensor.set_height(8);
  tensor.set_width(8);
  tensor.set_channels(3);
  tensor.set_data(std::string(size_t{8} * 8 * 3 * 4, '\0'));
  return request;
}

TEST(OutlineOf, HoldsTheFrontOfThePictureAndAllElse) {
  for (const size_t slice_bytes : {size_t{100}, size_t{16384}, size_t{1000000}}) {
    for (const size_t look : {kFirstLookBytes, kSecondLookBytes}) {
      v1::ClassifyRequest request = Picture(100'000);
      grpc::ByteBuffer bytes = Sliced(request.SerializeAsString(), slice_bytes);
      const auto outline = OutlineOf(bytes, look);
      ASSERT_TRUE(outline.has_value()) << slice_bytes;
      EXPECT_EQ(ParseRequest(bytes)->SerializeAsString(), request.SerializeAsString()) << "the message is left";
      request.set_image(request.image().substr(0, look));
      EXPECT_EQ(outline->request.SerializeAsString(), request.SerializeAsString());
      EXPECT_EQ(outline->left_out, 100'000 - static_cast<int64_t>(look));
    }
  }
}

TEST(OutlineOf, IsTheWholeOfASmallMessage) {
  for (const size_t size : {size_t{0}, size_t{100}, kFirstLookBytes}) {
    v1::ClassifyRequest request = Picture(size);
    for (int i = 0; i < 5; ++i) request.add_attention()->set_encoding(v1::FLOAT32);
    request.set_version_label(std::string(1000, 'l'));  // longer than what usually stands beside a picture
    grpc::ByteBuffer bytes = Sliced(request.SerializeAsString(), 1000);
    const auto outline = OutlineOf(bytes, kFirstLookBytes);
    ASSERT_TRUE(outline.has_value());
    EXPECT_EQ(outline->request.SerializeAsString(), request.SerializeAsString());
    EXPECT_EQ(outline->left_out, 0);
  }
}

TEST(OutlineOf, LeavesTheDataOutOfATensor) {
  v1::ClassifyRequest request = Tensor();
  grpc::ByteBuffer bytes = Sliced(request.SerializeAsString(), 100);
  const auto outline = OutlineOf(bytes, kFirstLookBytes);
  ASSERT_TRUE(outline.has_value());
  EXPECT_EQ(outline->left_out, 768);
  request.mutable_tensor()->clear_data();
  EXPECT_EQ(outline->request.SerializeAsString(), request.SerializeAsString());
}

TEST(OutlineOf, SaysNothingWhereTheWholeHasToBeRead) {
  const auto outline_of = [](const std::string& text) {
    grpc::ByteBuffer bytes = Sliced(text, 1000);
    return OutlineOf(bytes, kFirstLookBytes);
  };
  const std::string picture = Picture(100).SerializeAsString(), tensor = Tensor().SerializeAsString();
  for (const std::string& twice : {picture + picture, picture + tensor, tensor + picture, tensor + tensor}) {
    EXPECT_FALSE(outline_of(twice).has_value()) << "which of the two counts is the parser's affair";
  }
  v1::RawTensor data;
  data.set_data("1234");
  const std::string data_twice = data.SerializeAsString() + data.SerializeAsString();
  const std::string tag_and_size = {'\x22', static_cast<char>(data_twice.size())};
  ASSERT_TRUE(v1::ClassifyRequest().ParseFromString(tag_and_size + data_twice));
  EXPECT_FALSE(outline_of(tag_and_size + data_twice).has_value());
  v1::ClassifyRequest wordy = Picture(100);
  wordy.set_request_id(std::string(kMostBesideBytes + 1, 'x'));
  EXPECT_FALSE(outline_of(wordy.SerializeAsString()).has_value());
  EXPECT_FALSE(outline_of(tensor.substr(0, tensor.size() - 1)).has_value()) << "cut short";
  const std::string whole = Picture(100'000).SerializeAsString();
  EXPECT_FALSE(outline_of(whole.substr(0, whole.size() - 1)).has_value()) << "cut short";
  EXPECT_FALSE(outline_of("\x0f\xff garbage").has_value());
}

// A tag of seven bytes where five are the most: skipped as an unknown field, and never parsed.
TEST(OutlineOf, DoesNotPromiseThatTheWholeCanBeParsed) {
  grpc::ByteBuffer bytes = Sliced(Picture(100).SerializeAsString() + "\xcd\xfd\xef\xa8\xb7\xfc\x6a....", 1000);
  EXPECT_TRUE(OutlineOf(bytes, kFirstLookBytes).has_value());
  EXPECT_EQ(ParseRequest(bytes).status().code(), absl::StatusCode::kInvalidArgument);
}

class ReadRequestTest : public ::testing::Test {
 protected:
  ReadRequestTest() {
    files_.Add("m", 1);
    model_->metrics = metrics_.ForModel("m");
    model_->cost->ObserveCompute(1, absl::Seconds(1));  // each token
    registry_.Poll();
  }
  // What still waits is answered while there is somebody to hear it.
  ~ReadRequestTest() override { scheduler_.Stop(absl::ZeroDuration()); }

  using Answer = std::optional<absl::StatusOr<v1::ClassifyResponse>>;

  // Asks with so much time left. The answer lands in what is returned.
  const Answer& Ask(absl::Duration left, const v1::ClassifyRequest& message = Picture(100'000)) {
    Answer& answer = answers_.emplace_back();
    CallContext call = {.method = Method::kClassify, .deadline = clock_.Now() + left, .cancelled = nullptr};
    grpc::ByteBuffer bytes = Sliced(message.SerializeAsString(), 16384);
    absl::StatusOr<v1::ClassifyRequest> request = ReadRequest(service_, bytes, call);
    EXPECT_TRUE(request.ok()) << request.status();
    read_ = request->image().size() + request->tensor().data().size();
    service_.Classify(std::move(request), std::move(call),
                      [&answer](absl::StatusOr<v1::ClassifyResponse> got) { answer = std::move(got); });
    return answer;
  }

  std::deque<Answer> answers_;  // their addresses stay
  FakeRepository files_;
  FakeClock clock_;
  Metrics metrics_{"1"};
  const std::shared_ptr<LoadedModel> model_ = MakeLoaded("m", 1, SmallNativeConfig());
  Registry registry_{{.root = files_.root(), .serving_config = "", .admin_state = ""},
                     [this](const VersionId&) { return ModelHandle(model_); },
                     clock_};
  Admission admission_{{}, clock_};
  Scheduler scheduler_{{}, clock_, /*sweep=*/false};
  ClassifyService service_{registry_, admission_, scheduler_, metrics_, clock_};
  size_t read_ = 0;
};

TEST_F(ReadRequestTest, AServerThatRefusesTheLateLooksAtTheFrontAlone) {
  Ask(absl::Hours(1));
  EXPECT_EQ(read_, 100'000U);
  EXPECT_FALSE(service_.RefusesTheLate());
  const Answer& second = Ask(absl::Milliseconds(10));
  EXPECT_EQ(read_, 100'000U) << "nobody was refused before it";
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(service_.RefusesTheLate());
  const Answer& third = Ask(absl::Milliseconds(10));
  EXPECT_EQ(read_, kFirstLookBytes);
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(third->status(), second->status()) << "the same refusal, with the same advice";
  EXPECT_EQ(ShedReasonOf(third->status()), ShedReason::kDeadline);
  const Answer& patient = Ask(absl::Hours(1));
  EXPECT_EQ(read_, 100'000U) << "what is not refused is read whole";
  EXPECT_FALSE(patient.has_value());
  EXPECT_EQ(admission_.load().requests, 2);
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("vitrine_requests_total{model=\"m\",method=\"Classify\",code=\"RESOURCE_EXHAUSTED\"} 2\n"));
  EXPECT_THAT(metrics_.Text(), HasSubstr("vitrine_requests_shed_total{model=\"m\",reason=\"deadline\"} 2\n"));

  clock_.Advance(absl::Milliseconds(101));
  EXPECT_FALSE(service_.RefusesTheLate());
  Ask(absl::Milliseconds(10));
  EXPECT_EQ(read_, 100'000U) << "the overload may be over";
}

TEST_F(ReadRequestTest, AHeaderIsReadAsFarAsItGoes) {
  Ask(absl::Hours(1));
  Ask(absl::Milliseconds(10));
  ASSERT_TRUE(service_.RefusesTheLate());
  const std::string png = NoisePng(8, 8, 1);
  constexpr size_t kBeforePixels = 33;  // signature and IHDR
  const auto with_notes = [&](uint32_t bytes) {
    std::string chunk = {static_cast<char>(bytes >> 24), static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8),
                         static_cast<char>(bytes)};
    chunk += "noTe" + std::string(bytes, ' ') + "....";
    v1::ClassifyRequest request = Picture(100);
    request.set_image(png.substr(0, kBeforePixels) + chunk + png.substr(kBeforePixels) + std::string(50'000, '.'));
    return request;
  };
  const auto refused_after_reading = [&](const v1::ClassifyRequest& message) {
    const Answer& answer = Ask(absl::Milliseconds(10), message);
    EXPECT_TRUE(answer.has_value() && ShedReasonOf(answer->status()) == ShedReason::kDeadline);
    return read_;
  };
  EXPECT_EQ(refused_after_reading(with_notes(1000)), kFirstLookBytes);
  EXPECT_EQ(refused_after_reading(with_notes(5000)), kSecondLookBytes);
  const v1::ClassifyRequest long_header = with_notes(20'000);
  EXPECT_EQ(refused_after_reading(long_header), long_header.image().size());
}

TEST_F(ReadRequestTest, OfATensorTheFormIsEnough) {
  Ask(absl::Hours(1));
  Ask(absl::Milliseconds(10));
  ASSERT_TRUE(service_.RefusesTheLate());
  const Answer& late = Ask(absl::Milliseconds(10), Tensor());
  EXPECT_EQ(read_, 0U);
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(ShedReasonOf(late->status()), ShedReason::kDeadline);
  const Answer& patient = Ask(absl::Hours(1), Tensor());
  EXPECT_EQ(read_, 768U);
  EXPECT_FALSE(patient.has_value());
  v1::ClassifyRequest short_of_data = Tensor();
  short_of_data.mutable_tensor()->mutable_data()->pop_back();
  const Answer& wrong = Ask(absl::Milliseconds(10), short_of_data);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->status().code(), absl::StatusCode::kInvalidArgument) << wrong->status();
}

TEST_F(ReadRequestTest, OtherRefusalsKeepTheirOwnWords) {
  Ask(absl::Hours(1));
  Ask(absl::Milliseconds(10));
  ASSERT_TRUE(service_.RefusesTheLate());
  const Answer& past = Ask(absl::ZeroDuration());
  ASSERT_TRUE(past.has_value());
  EXPECT_EQ(past->status().code(), absl::StatusCode::kDeadlineExceeded);
  CallContext call = {
      .method = Method::kClassify, .deadline = clock_.Now() + absl::Milliseconds(10), .cancelled = nullptr};
  v1::ClassifyRequest unknown = Picture(100);
  unknown.set_model("nobody");
  EXPECT_EQ(service_.Foresee(unknown, 0, call), std::nullopt) << "not by time";
  v1::ClassifyRequest damaged = Picture(100);
  damaged.set_image("no picture");
  EXPECT_EQ(service_.Foresee(damaged, 0, call), std::nullopt);
}

}  // namespace
}  // namespace vitrine
