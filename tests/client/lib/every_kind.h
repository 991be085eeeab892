// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_LIB_EVERY_KIND_H_
#define VITRINE_TESTS_CLIENT_LIB_EVERY_KIND_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/client/lib/small_server.h"

namespace vitrine {

// Returns version 3 of the model "sizes", a ViT with patches of 4x4 pixels, up to 64 tokens and 2 layers of 3 heads. It
// offers every kind of attention map, and every kind of feature as vectors of 4 values.
v1::ModelVersion ModelWithEveryKind();

// Answers a request for the model of ModelWithEveryKind. The requested attention maps have the order that the API's
// contract states, and the features encode the image's width. The values of a map rise from cell to cell. The first
// value is 1 in most maps, 0.5 in a map of DISTANCE, and negative in a map of WEIGHTS. Returns INVALID_ARGUMENT if the
// bytes are not an image.
grpc::Status AnswerWithEveryKind(const v1::ClassifyRequest& request, v1::ClassifyResponse* response);

// Returns a server with the model of ModelWithEveryKind, for unary and streaming calls.
SmallServer::Methods ServerWithEveryKind();

// Return the values as little-endian bytes.
std::string HalfBytes(const std::vector<int>& values);  // for integers from -2048 to 2048
std::string FloatBytes(const std::vector<float>& values);

// Parses one JSON text per line.
std::vector<nlohmann::json> JsonLines(const std::string& text);

// Returns a grey PNG file.
std::string GreyPng(int width, int height);

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_LIB_EVERY_KIND_H_
