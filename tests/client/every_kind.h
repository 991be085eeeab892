// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_EVERY_KIND_H_
#define VITRINE_TESTS_CLIENT_EVERY_KIND_H_

#include <string>
#include <vector>

#include "tests/client/small_server.h"

namespace vitrine {

// "sizes" version 3: a ViT on patches of 4 pixels, up to 64 of them, that offers every kind of attention, each with 2
// layers and 3 heads, and every feature, of width 4.
v1::ModelVersion ModelWithEveryKind();

// Answers as that model would, in shape: maps for what is asked, in the order of the contract, and features that tell
// the picture's width. Values of a map rise from cell to cell from 1; those of WEIGHTS have both signs.
// INVALID_ARGUMENT for what is no picture.
grpc::Status AnswerWithEveryKind(const v1::ClassifyRequest& request, v1::ClassifyResponse* response);

// A server with that model, unary and streaming.
SmallServer::Methods ServerWithEveryKind();

// Little-endian bytes.
std::string HalfBytes(const std::vector<int>& values);  // whole numbers from -2048 to 2048
std::string FloatBytes(const std::vector<float>& values);

// A grey PNG file.
std::string GreyPng(int width, int height);

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_EVERY_KIND_H_
