// SPDX-License-Identifier: Apache-2.0
// What is read of a request that will be refused.
#include "server/wire/rpc/read_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "server/process/shed.h"
#include "server/wire/rpc/outline.h"
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

TEST(OutlineOf, HoldsTheFrontOfThePictureAndAllElse) {
  for (const size_t slice_bytes : {size_t{100}, size_t{16384}, size_t{1000000}}) {
    v1::ClassifyRequest request = Picture(100'000);
    grpc::ByteBuffer bytes = Sliced(request.SerializeAsString(), slice_bytes);
    const std::optional<v1::ClassifyRequest> outline = OutlineOf(bytes);
    ASSERT_TRUE(outline.has_value()) << slice_bytes;
    EXPECT_EQ(ParseRequest(bytes)->SerializeAsString(), request.SerializeAsString()) << "the message is left";
    request.set_image(request.image().substr(0, kOutlineBytes));
    EXPECT_EQ(outline->SerializeAsString(), request.SerializeAsString());
  }
}

TEST(OutlineOf, IsTheWholeOfASmallMessage) {
  for (const size_t size : {size_t{100}, kOutlineBytes}) {
    const v1::ClassifyRequest request = Picture(size);
    grpc::ByteBuffer bytes = Sliced(request.SerializeAsString(), 1000);
    const std::optional<v1::ClassifyRequest> outline = OutlineOf(bytes);
    ASSERT_TRUE(outline.has_value());
    EXPECT_EQ(outline->SerializeAsString(), request.SerializeAsString());
  }
}

TEST(OutlineOf, SaysNothingWhereTheWholeHasToBeRead) {
  const auto outline_of = [](const std::string& text) {
    grpc::ByteBuffer bytes = Sliced(text, 1000);
    return OutlineOf(bytes);
  };
  v1::ClassifyRequest tensor = Picture(100);
  tensor.mutable_tensor()->set_data("1234");
  EXPECT_FALSE(outline_of(tensor.SerializeAsString()).has_value());
  v1::ClassifyRequest wordy = Picture(100);
  wordy.set_request_id(std::string(3 * kOutlineBytes, 'x'));
  EXPECT_FALSE(outline_of(wordy.SerializeAsString()).has_value());
  const std::string whole = Picture(100'000).SerializeAsString();
  EXPECT_FALSE(outline_of(whole.substr(0, whole.size() - 1)).has_value()) << "cut short";
  EXPECT_FALSE(outline_of("\x0f\xff garbage").has_value());
}

// A tag of seven bytes where five are the most: skipped as an unknown field, and never parsed.
TEST(OutlineOf, DoesNotPromiseThatTheWholeCanBeParsed) {
  grpc::ByteBuffer bytes = Sliced(Picture(100).SerializeAsString() + "\xcd\xfd\xef\xa8\xb7\xfc\x6a....", 1000);
  EXPECT_TRUE(OutlineOf(bytes).has_value());
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

  // Asks for a picture with so much time left. The answer lands in what is returned.
  const Answer& Ask(absl::Duration left) {
    Answer& answer = answers_.emplace_back();
    CallContext call = {.method = Method::kClassify, .deadline = clock_.Now() + left, .cancelled = nullptr};
    grpc::ByteBuffer bytes = Sliced(Picture(100'000).SerializeAsString(), 16384);
    absl::StatusOr<v1::ClassifyRequest> request = ReadRequest(service_, bytes, call);
    EXPECT_TRUE(request.ok()) << request.status();
    read_ = request->image().size();
    service_.Classify(std::move(request), std::move(call),
                      [&answer](absl::StatusOr<v1::ClassifyResponse> got) { answer = std::move(got); });
    return answer;
  }

  std::deque<Answer> answers_;  // their addresses stay
  FakeRepository files_;
  FakeClock clock_;
  Metrics metrics_{1, "1"};
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
  EXPECT_EQ(read_, kOutlineBytes);
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
  EXPECT_TRUE(service_.Foresee(unknown, call).ok()) << "not by time";
  v1::ClassifyRequest damaged = Picture(100);
  damaged.set_image("no picture");
  EXPECT_TRUE(service_.Foresee(damaged, call).ok());
}

}  // namespace
}  // namespace vitrine
