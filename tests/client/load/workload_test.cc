// SPDX-License-Identifier: Apache-2.0
#include "client/load/workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/scratch_folder.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

std::string MixRefusal(const std::string& text) {
  const auto mix = ParseMix(text, RequestClass());
  EXPECT_EQ(mix.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(mix.status().message());
}

TEST(ParseMix, ReadsClassesOverTheDefaults) {
  RequestClass defaults;
  defaults.priority = v1::LOW;
  defaults.images = {"photos"};
  const auto mix =
      ParseMix(" model=a@2, resolution=32x48 ,weight=3 ; model=b,priority=high,deadline=50ms,images=x ;", defaults);
  ASSERT_TRUE(mix.ok()) << mix.status();
  ASSERT_EQ(mix->size(), 2u);
  EXPECT_EQ((*mix)[0].model.name, "a");
  EXPECT_EQ((*mix)[0].model.version, 2);
  EXPECT_EQ((*mix)[0].resolution->width(), 48);
  EXPECT_EQ((*mix)[0].weight, 3);
  EXPECT_EQ((*mix)[0].priority, v1::LOW);
  EXPECT_THAT((*mix)[0].images, testing::ElementsAre("photos"));
  EXPECT_EQ((*mix)[0].Description(), "a@2 32x48 low within 30s");
  EXPECT_EQ((*mix)[1].priority, v1::HIGH);
  EXPECT_EQ((*mix)[1].deadline, absl::Milliseconds(50));
  EXPECT_THAT((*mix)[1].images, testing::ElementsAre("x"));
  EXPECT_EQ((*mix)[1].Description(), "b high within 50ms");
}

TEST(ParseMix, AcceptsEverySetting) {
  const auto described = [](const std::string& text) { return (*ParseMix(text, RequestClass()))[0].Description(); };
  EXPECT_EQ(described("model=a"), "a within 30s");
  EXPECT_EQ(described("model=a@canary,priority=low"), "a@canary low within 30s");
  EXPECT_EQ(described("model=a,priority=normal,deadline=1ns"), "a within 1ns");
  EXPECT_EQ(described("model=a@7,name=the first"), "the first");
  EXPECT_EQ(described("model=a,attention=class, rollout ,features=mean,top_k=3"),
            "a within 30s with class with rollout with mean features top 3");
  EXPECT_EQ((*ParseMix("model=a,weight=1e9", RequestClass()))[0].weight, 1e9);
}

TEST(ParseMix, NamesTheFaultAndItsClass) {
  EXPECT_THAT(MixRefusal(""), HasSubstr("names no class"));
  EXPECT_THAT(MixRefusal("model=a;mdl=b"), HasSubstr("class 2 of the mix: \"mdl\" is none of model"));
  EXPECT_THAT(MixRefusal("model"), HasSubstr("class 1 of the mix: model has no value"));
  EXPECT_THAT(MixRefusal("model=a,weight=0"), HasSubstr("weight \"0\""));
  EXPECT_THAT(MixRefusal("model=a,weight=inf"), HasSubstr("weight \"inf\""));
  EXPECT_THAT(MixRefusal("model=a,weight=-1"), HasSubstr("weight \"-1\""));
  EXPECT_THAT(MixRefusal("model=a,deadline=50"), HasSubstr("deadline \"50\" is no duration"));
  EXPECT_THAT(MixRefusal("model=a,weight=1000000001"), HasSubstr("weight \"1000000001\""));
  EXPECT_THAT(MixRefusal("model=a,deadline=0s"), HasSubstr("deadline \"0s\" is no duration"));
  EXPECT_THAT(MixRefusal("model=a,priority=2"), HasSubstr("priority \"2\""));
  EXPECT_THAT(MixRefusal("model=a,resolution=5y"), HasSubstr("\"5y\" is no resolution"));
  EXPECT_THAT(MixRefusal("model=a@X"), HasSubstr("class 1"));
  EXPECT_THAT(MixRefusal("model=a,attention=class,none"),
              HasSubstr("attention \"none\" is none of class, mean, rollout"));
  EXPECT_THAT(MixRefusal("model=a,attention=class+mean"), HasSubstr("separate kinds by commas now, class,mean"));
  EXPECT_THAT(MixRefusal("model=a,pictures=x"), HasSubstr("pictures is now images"));
  EXPECT_THAT(MixRefusal("model=a,attention=class,weight"), HasSubstr("attention \"weight\" is none of class"));
  EXPECT_THAT(MixRefusal("model=a,weight"), HasSubstr("weight has no value"));
  EXPECT_THAT(MixRefusal("model=a,features=rollout"),
              HasSubstr("features \"rollout\" is none of class, mean, patches"));
  EXPECT_THAT(MixRefusal("model=a,top_k=0"), HasSubstr("top_k \"0\""));
}

RequestClass Class(const std::string& model, double weight, std::vector<std::string> images) {
  RequestClass one;
  one.model.name = model;
  one.weight = weight;
  one.images = std::move(images);
  return one;
}

TEST(PrepareWorkload, SerializesARequestForEachImageOfEachClass) {
  const ScratchFolder folder;
  folder.Write("p/a.jpg", "aaaa");
  folder.Write("p/b.png", "bb");
  RequestClass high = Class("b", 1, {folder.Path("p/b.png")});
  high.priority = v1::HIGH;
  high.resolution.emplace().set_height(8);
  high.attention = {v1::CLASS_TOKEN_ROW, v1::ROLLOUT};
  high.features = {v1::PATCH_TOKENS};
  high.top_k = 2;
  const auto workload = PrepareWorkload({Class("a", 1, {folder.Path("p")}), high}, {});
  ASSERT_TRUE(workload.ok()) << workload.status();
  ASSERT_EQ(workload->requests.size(), 3u);
  v1::ClassifyRequest request;
  ASSERT_TRUE(request.ParseFromString(workload->requests[0].bytes));
  EXPECT_EQ(request.model(), "a");
  EXPECT_EQ(request.image(), "aaaa");
  EXPECT_EQ(request.attention_size(), 0);
  EXPECT_FALSE(request.has_top_k());
  ASSERT_TRUE(request.ParseFromString(workload->requests[2].bytes));
  EXPECT_EQ(request.image(), "bb");
  EXPECT_EQ(request.priority(), v1::HIGH);
  EXPECT_EQ(request.resolution().height(), 8);
  ASSERT_EQ(request.attention_size(), 2);
  EXPECT_EQ(request.attention(1).kind(), v1::ROLLOUT);
  ASSERT_EQ(request.features_size(), 1);
  EXPECT_EQ(request.features(0).kind(), v1::PATCH_TOKENS);
  EXPECT_EQ(request.top_k(), 2);
  EXPECT_EQ(request.max_attention_bytes(), 16 << 20);
  EXPECT_NEAR(workload->image_bytes, 8.0 / 3, 1e-9);
}

TEST(PrepareWorkload, ChangesImagesToTheRequestedSize) {
  const ScratchFolder folder;
  WorkloadOptions options;
  options.bytes = 3;
  const auto workload = PrepareWorkload(
      {Class("a", 1, {folder.Write("a.jpg", "aaaa").string(), folder.Write("b.jpg", "b").string()})}, options);
  ASSERT_TRUE(workload.ok()) << workload.status();
  v1::ClassifyRequest request;
  ASSERT_TRUE(request.ParseFromString(workload->requests[0].bytes));
  EXPECT_EQ(request.image(), "aaa");
  ASSERT_TRUE(request.ParseFromString(workload->requests[1].bytes));
  EXPECT_EQ(request.image(), std::string("b\0\0", 3));
}

TEST(PrepareWorkload, GeneratesAnImageIfNoneIsGiven) {
  const auto workload = PrepareWorkload({Class("a", 1, {})}, {});
  ASSERT_TRUE(workload.ok()) << workload.status();
  v1::ClassifyRequest request;
  ASSERT_TRUE(request.ParseFromString(workload->requests[0].bytes));
  EXPECT_EQ(request.image().substr(0, 4), "\x89PNG");
  EXPECT_EQ(request.image(), MadeImage(224));
}

TEST(PrepareWorkload, RefusesMissingAndTooLargeImages) {
  const ScratchFolder folder;
  const auto missing = PrepareWorkload({Class("a", 1, {folder.Path("none.jpg")})}, {});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("none.jpg"));
  WorkloadOptions options;
  options.max_bytes = 100;
  const auto large = PrepareWorkload({Class("a", 1, {folder.Write("a.jpg", std::string(200, 'a')).string()})}, options);
  EXPECT_EQ(large.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PrepareWorkload, HasALimitOfBytes) {
  const std::vector<RequestClass> classes = {Class("a", 1, {}), Class("b", 1, {})};
  WorkloadOptions options;
  options.bytes = 1000;
  const auto workload = PrepareWorkload(classes, options);
  ASSERT_TRUE(workload.ok()) << workload.status();
  options.max_bytes = 0;
  for (const Workload::Request& request : workload->requests) {
    options.max_bytes += static_cast<int64_t>(request.bytes.size());
  }
  EXPECT_TRUE(PrepareWorkload(classes, options).ok());
  --options.max_bytes;
  EXPECT_FALSE(PrepareWorkload(classes, options).ok());
}

TEST(Workload, PicksClassesByWeightAndImagesEvenly) {
  const ScratchFolder folder;
  folder.Write("p/a.jpg", "a");
  folder.Write("p/b.jpg", "b");
  const auto workload =
      PrepareWorkload({Class("x", 3, {folder.Path("p")}), Class("y", 1, {folder.Path("p/a.jpg")})}, {});
  ASSERT_TRUE(workload.ok()) << workload.status();
  std::map<uint32_t, double> picked;
  constexpr int kCount = 40000;
  for (uint64_t number = 0; number < kCount; ++number) {
    const uint32_t request = workload->Pick(11, number);
    EXPECT_EQ(request, workload->Pick(11, number));
    ++picked[request];
  }
  // Tolerance: four standard deviations of the count.
  const auto near = [](double share) { return 4 * std::sqrt(kCount * share * (1 - share)); };
  EXPECT_NEAR(picked[0], kCount * 0.375, near(0.375));
  EXPECT_NEAR(picked[1], kCount * 0.375, near(0.375));
  EXPECT_NEAR(picked[2], kCount * 0.25, near(0.25));
}

TEST(PrepareTrace, KeepsItsRequests) {
  const ScratchFolder folder;
  folder.Write("p/a.jpg", "a");
  folder.Write("p/b.jpg", "b");
  Trace trace;
  trace.classes = {Class("x", 1, {}), Class("y", 1, {})};
  trace.requests = {{1, folder.Path("p/b.jpg")}, {1, folder.Path("p/a.jpg")}, {0, ""}};
  trace.arrivals = {{0, 0, 1}};
  const auto workload = PrepareTrace(trace, {});
  ASSERT_TRUE(workload.ok()) << workload.status();
  v1::ClassifyRequest request;
  ASSERT_TRUE(request.ParseFromString(workload->requests[1].bytes));
  EXPECT_EQ(request.model(), "y");
  EXPECT_EQ(request.image(), "a");
  ASSERT_EQ(workload->requests.size(), 3u);
  EXPECT_EQ(workload->requests[2].request_class, 0u);
  trace.requests[0].image = folder.Path("p");
  EXPECT_EQ(PrepareTrace(trace, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vitrine
