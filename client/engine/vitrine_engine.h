// SPDX-License-Identifier: Apache-2.0
/* Vitrine's CPU engine in the calling process: it decodes, computes and answers with the server's code, but without a
 * server. On the same kind of CPU, the same image, model and precision give results bit-identical to vitrine-server's.
 *
 *   VitrineEngineModel* model;
 *   VitrineEngineAnswers* answers;
 *   VitrineEngineImage image = {bytes, size, 0, 0, 0, VITRINE_ENGINE_FILE};
 *   if (vitrine_engine_load(NULL, "models/bundled/kv-pos-mnist", NULL, &model) != VITRINE_ENGINE_OK ||
 *       vitrine_engine_run(model, &image, 1, NULL, 0, &answers) != VITRINE_ENGINE_OK) {
 *     fprintf(stderr, "%s\n", vitrine_engine_last_error());
 *   }
 *
 * Compatibility: while VITRINE_ENGINE_API stays the same, new versions only add functions, and add members at the end
 * of VitrineEngineOptions. The messages are those of proto/vitrine/v1, to which new versions only add fields.
 *
 * Threads: every function may be called from every thread. Several threads may use a model at once; their images share
 * batches. Only one thread at a time may use an answers object. After fork(), the child process must load its own
 * models. It cannot run its parent's models, and vitrine_engine_free does nothing for those models.
 *
 * Errors: a function that can fail returns a VitrineEngineCode; vitrine_engine_last_error then returns the cause and
 * the remedy. No function throws. Internal faults of the engine are also logged to stderr. A null pointer for a
 * required value is INVALID_ARGUMENT; the functions that free accept null. An invalid pointer is undefined behaviour.
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

/* The gRPC status codes that functions return now. Callers must also accept other codes. */
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
      precision; /* "fp32", "bf16" or "int8"; NULL: fp32. For bf16 and int8, the version's manifest must have a plan */
} VitrineEngineOptions;

typedef enum VitrineEngineInput {
  VITRINE_ENGINE_FILE = 0,      /* bytes of a JPEG, PNG or WebP file; height, width and channels are ignored */
  VITRINE_ENGINE_UINT8 = 1,     /* pixels 0 to 255, [height, width, channels] */
  VITRINE_ENGINE_FLOAT32 = 2,   /* pixels 0 to 1, [height, width, channels] */
  VITRINE_ENGINE_NORMALIZED = 3 /* input of the model, [channels, height, width], never resized */
} VitrineEngineInput;

/* An image. Its bytes are read during the call only. It may have up to 16 megapixels and 8192 pixels on a side, as on
 * the server. */
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

/* An attention map or a feature, row-major [rows, columns, width]. A map has width 1. A feature of the whole image has
 * 1 row and 1 column. */
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

/* Returns the message of this thread's last error, or "" if it had none. Valid until the thread's next failed call. */
VITRINE_ENGINE_EXPORT const char* vitrine_engine_last_error(void);

/* Loads a version, checks its digests and its golden answers, and starts its threads. Blocks until the version is
 * loaded.
 *
 * `repository` is a folder, and `model` is NAME or NAME@VERSION; NAME means the newest version. If `repository` is
 * NULL, `model` is the path of a version's folder, REPOSITORY/NAME[@VERSION], or NAME[@VERSION] in
 * $VITRINE_REPOSITORY.
 * `options` may be NULL. Sets *out to NULL on failure. Thread-safe. */
VITRINE_ENGINE_EXPORT int vitrine_engine_load(const char* repository, const char* model,
                                              const VitrineEngineOptions* options, VitrineEngineModel** out);

/* Ends the threads and frees the model. No other call may use the model, now or later. Its answers stay valid. */
VITRINE_ENGINE_EXPORT void vitrine_engine_free(VitrineEngineModel* model);

/* Returns the version as JSON (protobuf's mapping of vitrine.v1.ModelVersion): labels, sizes, attention, features,
 * provenance. Valid until the model is freed. Thread-safe. NULL if `model` is NULL. */
VITRINE_ENGINE_EXPORT const char* vitrine_engine_describe(const VitrineEngineModel* model);

/* Sets *data to the version as a serialized vitrine.v1.ModelVersion, valid until the model is freed. Thread-safe. */
VITRINE_ENGINE_EXPORT int vitrine_engine_describe_message(const VitrineEngineModel* model, const void** data,
                                                          size_t* size);

/* Computes `count` images, which may differ in size, and blocks until all are answered. The result of an image is
 * bit-identical in every batch. A damaged image does not fail the call: see vitrine_engine_answer_status.
 *
 * `request` has the options of all images: a vitrine.v1.ClassifyRequest, serialized, or as JSON if its first byte is
 * "{", as in {"top_k": 3, "attention": [{"kind": "ROLLOUT"}], "features": [{"kind": "CLASS_TOKEN"}]}. NULL or 0 bytes:
 * 5 predictions. Model, version, input and time limit are ignored. The default encoding of attention is FLOAT32,
 * and the default of max_attention_bytes is 16 MiB. Sets *out to NULL on failure. Thread-safe. */
VITRINE_ENGINE_EXPORT int vitrine_engine_run(VitrineEngineModel* model, const VitrineEngineImage* images, size_t count,
                                             const void* request, size_t request_size, VitrineEngineAnswers** out);

VITRINE_ENGINE_EXPORT void vitrine_engine_answers_free(VitrineEngineAnswers* answers);

/* Returns the number of images of the call. */
VITRINE_ENGINE_EXPORT size_t vitrine_engine_answer_count(const VitrineEngineAnswers* answers);

/* The functions below return the image's error if the image failed, and OUT_OF_RANGE if the image, rank or entry does
 * not exist. The data that they set is valid until the answers are freed. */

/* Returns OK if the image was answered. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_status(VitrineEngineAnswers* answers, size_t image);

/* Sets *out to a prediction. `rank` counts from 0, the best prediction. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_prediction(VitrineEngineAnswers* answers, size_t image, size_t rank,
                                                           VitrineEnginePrediction* out);

/* Set *out to an attention map or a feature. Entries are in the order of the request, then by layer and head.
 * FAILED_PRECONDITION: the request has another encoding than FLOAT32. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_attention(VitrineEngineAnswers* answers, size_t image, size_t entry,
                                                          VitrineEngineArray* out);
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_feature(VitrineEngineAnswers* answers, size_t image, size_t entry,
                                                        VitrineEngineArray* out);

/* Sets *json to the answer as one line of JSON, as the server's HTTP port and `vitrine classify` print it; an overlay
 * is in its member "png", in base64. FAILED_PRECONDITION: an encoding other than FLOAT32 and OVERLAY_PNG. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_json(VitrineEngineAnswers* answers, size_t image, const char** json);

/* Sets *data to the answer as a serialized vitrine.v1.ClassifyResponse. */
VITRINE_ENGINE_EXPORT int vitrine_engine_answer_message(VitrineEngineAnswers* answers, size_t image, const void** data,
                                                        size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* VITRINE_ENGINE_H_ */
