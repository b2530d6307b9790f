/* Whether all hashes of a table's rows differ. They come from the engine by the Arrow C stream interface
   (https://arrow.apache.org/docs/format/CStreamInterface.html), a batch at a time, and are copied once. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 512 /* so that the hashes of ten million rows that share a bucket stay in the processor's cache */

/* As the specification lays them out; what is not used here has its place all the same. */
typedef struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
} ArrowSchema;

typedef struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
} ArrowArray;

typedef struct ArrowStream {
    int (*get_schema)(struct ArrowStream *, ArrowSchema *);
    int (*get_next)(struct ArrowStream *, ArrowArray *);
    const char *(*get_last_error)(struct ArrowStream *);
    void (*release)(struct ArrowStream *);
    void *private_data;
} ArrowStream;

typedef struct {
    uint64_t *start;
    size_t used, room;
} Hashes;

/* Whether it is a table of one column of unsigned 64-bit numbers. */
static int is_of_hashes(ArrowStream *stream) {
    ArrowSchema schema;
    int fits;
    if (stream->get_schema(stream, &schema)) return 0;
    fits = !strcmp(schema.format, "+s") && schema.n_children == 1 && !strcmp(schema.children[0]->format, "L");
    if (schema.release != NULL) schema.release(&schema);
    return fits;
}

/* Copy what a batch holds; 0 where a hash is missing, -1 where memory ends. */
static int take(Hashes *hashes, const ArrowArray *batch) {
    const ArrowArray *column = batch->children[0];
    size_t number = (size_t)batch->length, room = hashes->room ? hashes->room : 65536;
    uint64_t *start;
    if ((batch->null_count && batch->buffers[0] != NULL) || (column->null_count && column->buffers[0] != NULL)) {
        const uint8_t *given = column->buffers[0];
        if (batch->null_count) return 0; /* no row of a table is missing as a whole */
        for (int64_t i = 0, at = batch->offset + column->offset; i < batch->length; i++, at++)
            if (!(given[at / 8] >> (at % 8) & 1)) return 0;
    }
    while (room < hashes->used + number) room *= 2;
    if (room > hashes->room) {
        if ((start = realloc(hashes->start, room * sizeof *start)) == NULL) return -1;
        hashes->start = start;
        hashes->room = room;
    }
    if (number)
        memcpy(hashes->start + hashes->used, (const uint64_t *)column->buffers[1] + batch->offset + column->offset,
               number * sizeof *hashes->start);
    hashes->used += number;
    return 1;
}

/* Take all batches; 0 where there is a doubt, -1 with an exception set. Python goes on meanwhile: engines may call it. */
static int take_all(Hashes *hashes, ArrowStream *stream) {
    for (;;) {
        ArrowArray batch;
        PyThreadState *state;
        int failed, taken = 0;
        memset(&batch, 0, sizeof batch);
        state = PyEval_SaveThread();
        failed = stream->get_next(stream, &batch);
        PyEval_RestoreThread(state);
        if (failed) return 0; /* who asks the engine otherwise gets its error */
        if (batch.release == NULL) return 1;
        if (batch.n_children == 1) taken = take(hashes, &batch);
        batch.release(&batch);
        if (taken < 0) PyErr_NoMemory();
        if (taken <= 0) return taken;
        if (PyErr_CheckSignals()) return -1;
    }
}

/* Bring hashes of one bucket together, where they are; ends[b] is where the bucket b ends. */
static void into_buckets(uint64_t *hashes, size_t number, size_t *ends) {
    size_t next[BUCKETS], total = 0;
    memset(ends, 0, BUCKETS * sizeof *ends);
    for (size_t i = 0; i < number; i++) ends[hashes[i] % BUCKETS]++;
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        next[bucket] = total;
        ends[bucket] = total += ends[bucket];
    }
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        while (next[bucket] < ends[bucket]) {
            uint64_t hash = hashes[next[bucket]];
            while (hash % BUCKETS != bucket) {
                uint64_t *place = &hashes[next[hash % BUCKETS]++], other = *place;
                *place = hash;
                hash = other;
            }
            hashes[next[bucket]++] = hash;
        }
}

/* Whether all hashes of a bucket differ; slots is a table of a power of two, all 0, and more than there are hashes. */
static int differ(const uint64_t *hashes, size_t number, uint64_t *slots, size_t mask) {
    int zeros = 0;
    for (size_t i = 0; i < number; i++) {
        size_t place = (size_t)(hashes[i] / BUCKETS) & mask;
        if (hashes[i] == 0 && zeros++) return 0;
        while (slots[place] != 0 && slots[place] != hashes[i]) place = (place + 1) & mask;
        if (slots[place] != 0) return 0;
        slots[place] = hashes[i];
    }
    return 1;
}

/* Whether all hashes differ; -1 where memory ends. Leaves them in another order. */
static int are_different(uint64_t *hashes, size_t number) {
    size_t ends[BUCKETS], start = 0, most = 0, room = 2;
    uint64_t *slots;
    int all = 1;
    into_buckets(hashes, number, ends);
    for (size_t bucket = 0; bucket < BUCKETS; start = ends[bucket++])
        most = ends[bucket] - start > most ? ends[bucket] - start : most;
    while (room < 2 * most) room *= 2;
    if ((slots = malloc(room * sizeof *slots)) == NULL) return -1;
    start = 0;
    for (size_t bucket = 0; all && bucket < BUCKETS; start = ends[bucket++]) {
        memset(slots, 0, room * sizeof *slots);
        all = differ(hashes + start, ends[bucket] - start, slots, room - 1);
    }
    free(slots);
    return all;
}

/* How many different numbers the first bits of the hashes are; -1 where memory ends. */
static long first_bits(const uint64_t *hashes, size_t number, int bits) {
    long found = 0;
    uint8_t *seen = calloc((size_t)1 << bits, 1);
    if (seen == NULL) return -1;
    for (size_t i = 0; i < number; i++) {
        uint8_t *place = &seen[hashes[i] >> (64 - bits)];
        found += !*place;
        *place = 1;
    }
    free(seen);
    return found;
}

const char all_differ_doc[] = "all_differ(stream, bits)\n--\n\n"
                              "Whether no two hashes of an Arrow stream of one column are equal: None where two are, or one is missing;\n"
                              "else how many there are, and how many different numbers their first bits are, 1 to 30 of them.";

PyObject *all_differ(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *answer = NULL;
    ArrowStream *stream;
    Hashes hashes = {NULL, 0, 0};
    int bits, all;
    long found;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Oi", &capsule, &bits)) return NULL;
    if (!PyCapsule_IsValid(capsule, "arrow_array_stream") || bits < 1 || bits > 30) Py_RETURN_NONE;
    stream = PyCapsule_GetPointer(capsule, "arrow_array_stream"); /* its capsule releases it */
    if (stream->release == NULL || !is_of_hashes(stream)) Py_RETURN_NONE;
    if ((all = take_all(&hashes, stream)) > 0) {
        PyThreadState *state = PyEval_SaveThread();
        found = first_bits(hashes.start, hashes.used, bits);
        all = found < 0 ? -1 : are_different(hashes.start, hashes.used);
        PyEval_RestoreThread(state);
        if (all < 0) PyErr_NoMemory();
        if (all > 0) answer = Py_BuildValue("nl", (Py_ssize_t)hashes.used, found);
    }
    free(hashes.start);
    if (!all) Py_RETURN_NONE;
    return answer;
}
