// SPDX-License-Identifier: Apache-2.0
/* Vitrine's CPU engine in the calling process: the server's code from the image's bytes to its answer, without a
 * server. The same image, model and precision give the same bits as vitrine-server on the same kind of CPU.
 *
 *   VitrineEngineModel* model;
 *   VitrineEngineAnswers* answers;
 *   VitrineEngineImage image = {bytes, size, 0, 0, 0, VITRINE_ENGINE_FILE};
 *   if (vitrine_engine_load(NULL, "models/bundled/kv-pos-mnist", NULL, &model) != VITRINE_ENGINE_OK ||
 *       vitrine_engine_run(model, &image, 1, NULL, 0, &answers) != VITRINE_ENGINE_OK) {
 *     fprintf(stderr, "%s\n", vitrine_engine_last_error());
 *   }
 *
 * Compatibility: functions, and members at the end of VitrineEngineOptions, are only added within one value of
 * VITRINE_ENGINE_API. The messages are those of proto/vitrine/v1, whose fields are only added, too.
 *
 * Threads: every function may be called from every thread. A model may be used by several threads at once; their images
 * share batches. An answers object may be used by one thread at a time. After fork(), a child can only free what its
 * parent loaded, which does nothing there; it must load its own models.
 *
 * Errors: a function that can fail returns one of VitrineEngineCode, and vitrine_engine_last_error a sentence that
 * names the cause and the remedy. No C++ exception leaves a function.
 * Faults of the engine itself are also logged to stderr. Null pointers are INVALID_ARGUMENT where a value
 * is needed; the functions that free accept them. A pointer that is neither null nor valid is undefined behaviour.
 */
#ifndef VITRINE_ENGINE_H_
#define VITRINE_ENGINE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VITRINE_ENGINE_API 1

#if defined(__GNUC__)
#define VITRINE_ENGINE_EXPORT __attribute__((visibility("default")))
#else
#define VITRINE_ENGINE_EXPORT
#endif

/* The canonical codes of gRPC that occur. A caller must accept others. */
typedef enum VitrineEngineCode {
  VITRINE_ENGINE_OK = 0,
  VITRINE_ENGINE_INVALID_ARGUMENT = 3,
  VITRINE_ENGINE_NOT_FOUND = 5,
  VITRINE_ENGINE_PERMISSION_DENIED = 7,
  VITRINE_ENGINE_RESOURCE_EXHAUSTED = 8,
  VITRINE_ENGINE_FAILED_PRECONDITION = 9,
  VITRINE_ENGINE_OUT_OF_RANGE = 11,
  VITRINE_ENGINE_UNIMPLEMENTED = 12,
  VITRINE_ENGINE_INTERNAL = 13,
  VITRINE_ENGINE_UNAVAILABLE = 14
} VitrineEngineCode;

typedef struct VitrineEngineModel VitrineEngineModel;     /* a loaded version, with its own worker threads */
typedef struct VitrineEngineAnswers VitrineEngineAnswers; /* the answers to the images of one call */

/* Options of a model. Zeros are the defaults. */
typedef struct VitrineEngineOptions {
  size_t struct_size; /* sizeof(VitrineEngineOptions) of the caller */
  int32_t threads;    /* worker threads, at most 1024; 0: one per core that this process may use */
  const char*
      precision; /* "fp32", "bf16" or "int8"; NULL: fp32. The version's manifest must have a plan for the others */
} VitrineEngineOptions;

typedef enum VitrineEngineInput {
  VITRINE_ENGINE_FILE = 0,      /* bytes of a JPEG, PNG or WebP file; height, width and channels are ignored */
  VITRINE_ENGINE_UINT8 = 1,     /* pixels 0 to 255, [height, width, channels] */
  VITRINE_ENGINE_FLOAT32 = 2,   /* pixels 0 to 1, [height, width, channels] */
  VITRINE_ENGINE_NORMALIZED = 3 /* input of the model, [channels, height, width], never resized */
} VitrineEngineInput;

/* An image, of any size. Its bytes are read during the call only. Limits are those of the server: 16 megapixels, and
 * 8192 pixels on a side. */
typedef struct VitrineEngineImage {
  const void* data;
  size_t size; /* in bytes; for arrays it must match the shape */
  int32_t height;
  int32_t width;
  int32_t channels; /* 1 (grey) or 3 (RGB) */
  int32_t input;    /* a VitrineEngineInput */
} VitrineEngineImage;

typedef struct VitrineEnginePrediction {
  int32_t index;     /* class, from 0 */
  const char* label; /* UTF-8 */
  float probability;
  float logit;
} VitrineEnginePrediction;

/* An attention map or a feature. Row-major [rows, columns, width]; a map has the width 1, and a feature of the whole
 * image 1 row and 1 column. */
typedef struct VitrineEngineArray {
  const float* values;
  int32_t rows;
  int32_t columns;
  int32_t width;
  int32_t kind;  /* number of vitrine.v1.AttentionKind or FeatureKind */
  int32_t layer; /* -1: none, as for features */
  int32_t head;  /* -1: none, or the mean over heads */
} VitrineEngineArray;

/* Returns the value of VITRINE_ENGINE_API that the library was built with. */
VITRINE_ENGINE_EXPORT int vitrine_engine_api(void);

/* Returns Vitrine's version, for example "1.2.3". Never freed. */
VITRINE_ENGINE_EXPORT const char* vitrine_engine_version(void);

/* Returns the sentence of the calling thread's latest failed call; "" if none failed. Valid until its next failure. */
VITRINE_ENGINE_EXPORT const char* vitrine_engine_last_error(void);

/* Loads a version, checks its digests and its golden answers, and starts its threads. Blocks for the length of the
 * load.
 *
 * With a repository (a folder), `model` is NAME or NAME@VERSION; without a version it is the newest. With NULL, `model`
 * is the path of a version's folder, or REPOSITORY/NAME[@VERSION], or NAME[@VERSION] of $VITRINE_REPOSITORY.
 * `options` may be NULL. Sets *out to NULL if it fails. Thread-safe. */
VITRINE_ENGINE_EXPORT int vitrine_engine_load(const char* repository, const char* model,
                                              const VitrineEngineOptions* options, VitrineEngineModel** out);

/* Ends the threads and frees the model. No other call may use it, now or later; answers stay valid. */
VITRINE_ENGINE_EXPORT void vitrine_engine_free(VitrineEngineModel* model);

/* Returns the version as JSON, the mapping of vitrine.v1.ModelVersion: labels, sizes, attention, features, provenance.
 * Valid until the model is freed. Thread-safe. NULL if `model` is NULL. */
VITRINE_ENGINE_EXPORT const char* vitrine_engine_describe(const VitrineEngineModel* model);

/* As above, the serialized vitrine.v1.ModelVersion. */
VITRINE_ENGINE_EXPORT int vitrine_engine_describe_message(const VitrineEngineModel* model, const void** data,
                                                          size_t* size);

/* Computes `count` images of mixed sizes, and blocks until all are answered. An image has the same bits alone and in
 * any batch. One that fails, such as a damaged file, fails alone: see vitrine_engine_answer_status.
 *
 * `request` says what is wanted of every image: a vitrine.v1.ClassifyRequest, serialized, or as JSON if its first byte
 * is
 * "{", as in {"top_k": 3, "attention": [{"kind": "ROLLOUT"}], "features": [{"kind": "CLASS_TOKEN"}]}. NULL or 0 bytes:
 * 5 predictions. Fields that name a model, an input or a time limit are ignored. Attention is FLOAT32 by default, and
 * max_attention_bytes 16 MiB. OVERLAY_PNG is UNIMPLEMENTED: an answer has the values, and the caller draws.
 * Sets *out to NULL if it fails. Thread-safe. */
VITRINE_ENGINE_EXPORT int vitrine_engine_run(VitrineEngineModel* model, const VitrineEngineImage* images, size_t count,
                                             const void* request, size_t request_size, VitrineEngineAnswers** out);

VITRINE_ENGINE_EXPORT void vitrine_engine_answers_free(VitrineEngineAnswers* answers);

/* Returns the number of images of the call. */
VITRINE_ENGINE_EXPORT size_t vitrine_engine_answer_count(const VitrineEngineAnswers* answers);

/* The functions below return an image's error if it failed, and OUT_OF_RANGE for an image, rank or entry that is not
 * there. What they return is valid until the answers are freed. */

/* Returns the code of one image. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_status(VitrineEngineAnswers* answers, size_t image);

/* Returns the prediction of a rank, 0 for the best. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_prediction(VitrineEngineAnswers* answers, size_t image, size_t rank,
                                                           VitrineEnginePrediction* out);

/* Return attention maps and features, in the order requested, then by layer and head. FAILED_PRECONDITION: the request
 * chose another encoding than FLOAT32. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_attention(VitrineEngineAnswers* answers, size_t image, size_t entry,
                                                          VitrineEngineArray* out);
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_feature(VitrineEngineAnswers* answers, size_t image, size_t entry,
                                                        VitrineEngineArray* out);

/* Returns the answer as one line of JSON, in the form that the server's HTTP port and `vitrine classify` have. Needs
 * FLOAT32, as above. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_json(VitrineEngineAnswers* answers, size_t image, const char** json);

/* Returns the answer as a serialized vitrine.v1.ClassifyResponse. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_message(VitrineEngineAnswers* answers, size_t image, const void** data,
                                                        size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* VITRINE_ENGINE_H_ */
