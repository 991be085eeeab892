// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_WORKLOAD_WORKLOAD_H_
#define VITRINE_CLIENT_LOAD_WORKLOAD_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/load/workload/arrivals.h"
#include "client/load/workload/request_class.h"

namespace vitrine {

// The requests of a load, serialised once and shared by all calls.
struct Workload {
  struct Request {
    std::string bytes;  // a ClassifyRequest
    uint32_t request_class = 0;
    std::string image = {};  // the image's file; empty for a generated image
  };
  std::vector<RequestClass> classes = {};
  // Grouped by class, in the order of the classes. For a trace, in the trace's order.
  std::vector<Request> requests = {};
  double image_bytes = 0;        // mean size of an image in bytes
  std::string passed_over = {};  // summary of the files that were ignored in folders (see FoundImages)

  // Draws the `number`-th request and returns its index. Chooses its class by weight, and its image uniformly. Pure.
  // Must not be called for a trace.
  uint32_t Pick(uint64_t seed, uint64_t number) const;
};

struct WorkloadOptions {
  // Size in bytes to which every image is cut or padded with zeros, for servers that do not decode; 0: unchanged.
  int64_t bytes = 0;
  // Maximum size of all requests together.
  int64_t max_bytes = int64_t{1} << 30;
};

// Reads the images of every class. INVALID_ARGUMENT, NOT_FOUND and similar errors name the image that cannot be used.
absl::StatusOr<Workload> PrepareWorkload(std::vector<RequestClass> classes, const WorkloadOptions& options);

// A recorded load: requests and their due times.
struct Trace {
  struct Request {
    uint32_t request_class = 0;
    std::string image = {};  // a file; empty: a generated image
  };
  std::vector<RequestClass> classes = {};  // requests that differ only in their image share a class
  std::vector<Request> requests = {};      // without duplicates
  std::vector<Arrival> arrivals = {};      // `request` is an index into `requests`; at least one
};

// Prepares the requests of a trace. Keeps their order, so that the `request` of each arrival stays valid.
absl::StatusOr<Workload> PrepareTrace(const Trace& trace, const WorkloadOptions& options);

// Returns a generated PNG file with varied content, for a load without images. The result is always the same.
std::string MadeImage(int side);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_WORKLOAD_WORKLOAD_H_
