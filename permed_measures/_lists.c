/* The best numbers of each list of a table, and whether all its rows differ. Rows come from the engine by the Arrow C
   stream interface (https://arrow.apache.org/docs/format/CStreamInterface.html), a batch at a time; what is found goes
   back the same way. Any doubt (a missing id or number, NaN, two rows that may be the same) ends the work with None. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define BUCKETS 512 /* so that the hashes of ten million rows that share a bucket stay in the processor's cache */
#define PIECE 256    /* hashes, or rows, that memory is taken for at a time */
#define HUGE_PAGE ((size_t)1 << 21)
#define LARGE (HUGE_PAGE + HUGE_PAGE / 2)
#define LEAST_SLAB ((size_t)1 << 16)
#define MOST_SLAB (((size_t)1 << 23) - 256) /* with what is put before it, four large pages */
#define AHEAD 64 /* rows whose lists are asked of memory before they are needed */
#define SHORT 16
#define LINE 64
#define FEW (1 << 18) /* candidates that are not worth a look */
#define CHECKED 8192 /* rows between looks at the memory taken: a multiple of AHEAD */
#define KEYS 2   /* system and query, at most */
#define LARGEST (1 << 30)
#define TEXTS (KEYS + 1) /* and the document */

#if defined(__GNUC__) || defined(__clang__)
#define SOON(pointer) __builtin_prefetch(pointer)
#else
#define SOON(pointer) (void)(pointer)
#endif

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

/* Memory. Much of it comes from the system itself, in large pages where it has them: half of the time goes into small
   ones otherwise; and what malloc() has given and got back makes it keep more, which engines would miss. */
static void *memory_of(size_t bytes) {
    size_t *start, whole = bytes + LINE;
#ifdef MADV_HUGEPAGE
    if (bytes >= LARGE) {
        whole = (whole + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; /* the system begins these where a large page can */
        if ((start = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED) return NULL;
        madvise(start, whole, MADV_HUGEPAGE);
        *start = whole;
        return (char *)start + LINE;
    }
#endif
    if ((start = malloc(whole)) == NULL) return NULL;
    *start = 0;
    return (char *)start + LINE;
}

static void free_memory(void *given) {
    size_t *start;
    if (given == NULL) return;
    start = (size_t *)((char *)given - LINE);
#ifdef MADV_HUGEPAGE
    if (*start) {
        munmap(start, *start);
        return;
    }
#endif
    free(start);
}

/* Memory that is given back as a whole; it comes in slabs, each twice as large as the one before, to a point. */
typedef struct Slab {
    struct Slab *before;
    size_t room;
    uint64_t start[];
} Slab;

typedef struct {
    Slab *last;
    char *next;
    size_t left, taken;
} Arena;

static void *from_arena(Arena *arena, size_t bytes) {
    char *given;
    bytes = (bytes + 7) & ~(size_t)7;
    if (bytes > arena->left) {
        size_t room = arena->last == NULL ? LEAST_SLAB : 2 * arena->last->room < MOST_SLAB ? 2 * arena->last->room : MOST_SLAB;
        Slab *slab;
        room = bytes > room ? bytes : room;
        if ((slab = memory_of(sizeof *slab + room)) == NULL) return NULL;
        arena->taken += room;
        slab->before = arena->last;
        slab->room = room;
        arena->last = slab;
        arena->next = (char *)slab->start;
        arena->left = room;
    }
    given = arena->next;
    arena->next += bytes;
    arena->left -= bytes;
    return given;
}

static void clear(Arena *arena) {
    while (arena->last != NULL) {
        Slab *before = arena->last->before;
        free_memory(arena->last);
        arena->last = before;
    }
}

/* A list: 64 bytes, so that a look at it is one at memory. */
typedef struct {
    uint64_t hash;
    double least; /* the lowest of the best numbers, once there are as many as are asked for; till then -inf */
    double *best; /* a heap, the lowest on top */
    union {
        const char *far;
        char near[SHORT];
    } text; /* its keys, one behind the other */
    uint32_t lengths[KEYS], used, room, rows;
} List;

typedef struct Piece {
    struct Piece *before;
    uint64_t hashes[PIECE];
} Piece;

/* A row that can be among the best, when it came. */
typedef struct {
    double number;
    const char *doc;
    uint32_t length, list;
} Candidate;

typedef struct Candidates {
    struct Candidates *next;
    Candidate some[PIECE];
} Candidates;

typedef struct {
    Arena memory;
    Candidates *first, *last;
    size_t used;
} Near;

typedef struct {
    Arena texts, heaps, pieces;
    void *memory; /* of the lists, which begin where a line of the processor's cache does */
    List *lists;
    uint64_t *slots; /* the upper half of a list's hash, and its place + 1 below */
    size_t used, room, mask, most, rows, bytes; /* so much memory at most */
    Piece *buckets[BUCKETS];
    size_t filled[BUCKETS];
    Near near;
    size_t sieved; /* so many candidates were left when they were last looked through */
    uint64_t seed;
    size_t wanted; /* so many candidates at most, or none */
    int keys, finite; /* whether all numbers have to be finite */
    char formats[TEXTS], names[TEXTS][64]; /* texts are u, U or v */
} Table;

static void clear_table(Table *table) {
    clear(&table->texts);
    clear(&table->heaps);
    clear(&table->pieces);
    free_memory(table->memory);
    free_memory(table->slots);
    clear(&table->near.memory);
}

static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const char *text, size_t length, uint64_t hash) {
    uint64_t word = 0;
    uint32_t start, end;
    hash += length * 0xA0761D6478BD642Fu; /* a text is not a longer one, whatever they share */
    for (; length > 8; text += 8, length -= 8) {
        memcpy(&word, text, 8);
        hash = mixed(hash, word);
    }
    if (length >= 4) { /* which may overlap */
        memcpy(&start, text, 4);
        memcpy(&end, text + length - 4, 4);
        word = (uint64_t)start << 32 | end;
    } else {
        word = (uint64_t)(unsigned char)text[0] << 16 | (uint64_t)(unsigned char)text[length / 2] << 8;
        word |= (unsigned char)text[length - 1];
    }
    return mixed(hash, word);
}

typedef struct {
    const char *texts[KEYS];
    uint32_t lengths[KEYS];
    uint64_t hash;
} Key;

/* The text at a place of a column; 0 where it is empty, or too long. */
static int text_at(const ArrowArray *column, char format, int64_t at, const char **text, uint32_t *length) {
    if (format == 'u') {
        const int32_t *ends = column->buffers[1];
        *text = (const char *)column->buffers[2] + ends[at];
        *length = (uint32_t)(ends[at + 1] - ends[at]);
    } else if (format == 'U') {
        const int64_t *ends = column->buffers[1];
        if (ends[at + 1] - ends[at] > LARGEST) return 0;
        *text = (const char *)column->buffers[2] + ends[at];
        *length = (uint32_t)(ends[at + 1] - ends[at]);
    } else {
        const char *view = (const char *)column->buffers[1] + 16 * at;
        int32_t parts[4];
        memcpy(parts, view, sizeof parts);
        *length = (uint32_t)parts[0];
        *text = parts[0] <= 12 ? view + 4 : (const char *)column->buffers[2 + parts[2]] + parts[3];
    }
    return *length != 0;
}

static const char *text_of(const List *list) {
    return (size_t)list->lengths[0] + list->lengths[1] <= SHORT ? list->text.near : list->text.far;
}

static int same(const Table *table, const List *list, const Key *key) {
    const char *text = text_of(list);
    for (int k = 0; k < table->keys; text += list->lengths[k++])
        if (list->lengths[k] != key->lengths[k] || memcmp(text, key->texts[k], key->lengths[k])) return 0;
    return 1;
}

static int grow_slots(Table *table) {
    size_t room = table->slots == NULL ? 4096 : 2 * (table->mask + 1);
    uint64_t *slots = memory_of(room * sizeof *slots);
    if (slots == NULL) return 0;
    memset(slots, 0, room * sizeof *slots);
    for (size_t i = 0; i < table->used; i++) {
        size_t place = table->lists[i].hash & (room - 1);
        while (slots[place]) place = (place + 1) & (room - 1);
        slots[place] = (table->lists[i].hash >> 32 << 32) | (i + 1);
    }
    free_memory(table->slots);
    table->slots = slots;
    table->mask = room - 1;
    return 1;
}

static int grow_lists(Table *table) {
    size_t room = table->room ? 2 * table->room : 1024;
    char *memory = room > UINT32_MAX ? NULL : memory_of(room * sizeof(List) + LINE);
    List *lists;
    if (memory == NULL) return 0;
    lists = (List *)(memory + (LINE - (uintptr_t)memory % LINE));
    if (table->used) memcpy(lists, table->lists, table->used * sizeof *lists);
    free_memory(table->memory);
    table->memory = memory;
    table->lists = lists;
    table->room = room;
    return 1;
}

static List *new_list(Table *table, const Key *key, size_t place) {
    List *list;
    char *text;
    size_t bytes = 0;
    if (table->used == table->room && !grow_lists(table)) return NULL;
    list = &table->lists[table->used];
    memset(list, 0, sizeof *list);
    list->hash = key->hash;
    list->least = -INFINITY;
    for (int k = 0; k < table->keys; k++) bytes += list->lengths[k] = key->lengths[k];
    text = bytes <= SHORT ? list->text.near : from_arena(&table->texts, bytes);
    if (text == NULL) return NULL;
    if (bytes > SHORT) list->text.far = text;
    for (int k = 0; k < table->keys; text += key->lengths[k++]) memcpy(text, key->texts[k], key->lengths[k]);
    table->slots[place] = (key->hash >> 32 << 32) | ++table->used;
    if (table->used * 2 > table->mask && !grow_slots(table)) return NULL;
    return list;
}

/* The list of a row, new where it is the first one; NULL where memory ends. */
static List *list_of(Table *table, const Key *key) {
    size_t place = key->hash & table->mask;
    uint64_t slot;
    while ((slot = table->slots[place])) {
        if (slot >> 32 == key->hash >> 32) {
            List *list = &table->lists[(uint32_t)slot - 1];
            if (same(table, list, key)) return list;
        }
        place = (place + 1) & table->mask;
    }
    return new_list(table, key, place);
}

/* Put a number where it belongs, from the top of a heap down. */
static void sink(double *heap, size_t used, double number) {
    size_t place = 0, child;
    while ((child = 2 * place + 1) < used) {
        if (child + 1 < used && heap[child + 1] < heap[child]) child++;
        if (number <= heap[child]) break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = number;
}

/* Take a number among the best of its list where it belongs there; 0 where memory ends. */
static int offer(Table *table, List *list, double number) {
    size_t place;
    if (list->used == table->most) {
        if (!(number > list->least) || !table->most) return 1;
        if (table->most > 1) sink(list->best, list->used, number);
        list->least = table->most > 1 ? list->best[0] : number;
        return 1;
    }
    if (table->most == 1) { /* the least is all that there is */
        list->used = 1;
        list->least = number;
        return 1;
    }
    if (list->used == list->room) {
        size_t room = list->room ? 4 * (size_t)list->room : 2;
        double *best;
        room = room > table->most ? table->most : room;
        if ((best = from_arena(&table->heaps, room * sizeof *best)) == NULL) return 0;
        if (list->used) memcpy(best, list->best, list->used * sizeof *best);
        list->best = best;
        list->room = (uint32_t)room;
    }
    for (place = list->used++; place && number < list->best[(place - 1) / 2]; place = (place - 1) / 2)
        list->best[place] = list->best[(place - 1) / 2];
    list->best[place] = number;
    if (list->used == table->most) list->least = list->best[0];
    return 1;
}

static int keep_hash(Table *table, uint64_t hash) {
    size_t bucket = hash % BUCKETS;
    if (table->filled[bucket] % PIECE == 0) {
        Piece *piece = from_arena(&table->pieces, sizeof *piece);
        if (piece == NULL) return 0;
        piece->before = table->buckets[bucket];
        table->buckets[bucket] = piece;
    }
    table->buckets[bucket]->hashes[table->filled[bucket]++ % PIECE] = hash;
    return 1;
}

static int keep_candidate(Near *near, Candidate one) {
    size_t place = near->used++ % PIECE;
    char *doc;
    if (place == 0) {
        Candidates *more = from_arena(&near->memory, sizeof *more);
        if (more == NULL) return 0;
        more->next = NULL;
        *(near->last == NULL ? &near->first : &near->last->next) = more;
        near->last = more;
    }
    if ((doc = from_arena(&near->memory, one.length)) == NULL) return 0;
    memcpy(doc, one.doc, one.length);
    one.doc = doc;
    near->last->some[place] = one;
    return 1;
}

/* Leave out the candidates that are below the best by now; 0 where memory ends. */
static int sieve(Table *table) {
    Near kept = {{NULL, NULL, 0, 0}, NULL, NULL, 0};
    size_t left = table->near.used;
    int fits = 1;
    for (const Candidates *piece = table->near.first; fits && piece != NULL; piece = piece->next)
        for (size_t i = 0; fits && i < PIECE && left; i++, left--)
            if ((float)piece->some[i].number >= (float)table->lists[piece->some[i].list].least)
                fits = keep_candidate(&kept, piece->some[i]);
    clear(&table->near.memory);
    table->near = kept;
    table->sieved = kept.used;
    if (fits && kept.used > table->wanted) { /* and they would not become fewer */
        clear(&table->near.memory);
        memset(&table->near, 0, sizeof table->near);
        table->wanted = 0;
    }
    return fits;
}

static size_t memory_taken(const Table *table) {
    size_t lists = table->room * sizeof(List) + (table->mask + 1) * sizeof *table->slots;
    return lists + table->texts.taken + table->heaps.taken + table->pieces.taken + table->near.memory.taken;
}

static int all_given(const ArrowArray *column, int64_t offset, int64_t length) {
    const uint8_t *given = column->buffers[0];
    if (given == NULL || column->null_count == 0) return 1;
    for (int64_t i = 0, at = offset; i < length; i++, at++)
        if (!(given[at / 8] >> (at % 8) & 1)) return 0;
    return 1;
}

/* Take the rows of a batch; 0 where there is a doubt, -1 where memory ends. */
static int take(Table *table, const ArrowArray *batch) {
    const ArrowArray *docs = batch->children[table->keys], *values = batch->children[table->keys + 1];
    const double *numbers = (const double *)values->buffers[1] + batch->offset + values->offset;
    Key keys[AHEAD];
    List *list = NULL;
    if (batch->null_count) return 0; /* no row of a table is missing as a whole */
    for (int64_t child = 0; child < batch->n_children; child++)
        if (!all_given(batch->children[child], batch->offset + batch->children[child]->offset, batch->length)) return 0;
    for (int64_t first = 0; first < batch->length; first += AHEAD) {
        int number = (int)(batch->length - first < AHEAD ? batch->length - first : AHEAD);
        if (first % CHECKED == 0 && memory_taken(table) > table->bytes) return 0;
        for (int i = 0; i < number; i++) {
            Key *key = &keys[i];
            key->hash = table->seed;
            for (int k = 0; k < table->keys; k++) {
                const ArrowArray *column = batch->children[k];
                int64_t at = batch->offset + column->offset + first + i;
                if (!text_at(column, table->formats[k], at, &key->texts[k], &key->lengths[k])) return 0;
                key->hash = hash_of(key->texts[k], key->lengths[k], key->hash);
            }
            SOON(&table->slots[key->hash & table->mask]);
        }
        for (int i = 0; i < number; i++) {
            uint32_t place = (uint32_t)table->slots[keys[i].hash & table->mask];
            if (place) SOON(&table->lists[place - 1]);
        }
        for (int i = 0; i < number; i++) {
            uint32_t place = (uint32_t)table->slots[keys[i].hash & table->mask];
            if (place && numbers[first + i] > table->lists[place - 1].least) SOON(table->lists[place - 1].best);
        }
        for (int i = 0; i < number; i++) {
            Candidate one = {numbers[first + i], NULL, 0, 0};
            int64_t at = batch->offset + docs->offset + first + i;
            if (table->finite ? !isfinite(one.number) : isnan(one.number)) return 0;
            if (!text_at(docs, table->formats[table->keys], at, &one.doc, &one.length)) return 0;
            if (list == NULL || list->hash != keys[i].hash || !same(table, list, &keys[i]))
                if ((list = list_of(table, &keys[i])) == NULL) return -1;
            if (++list->rows == 0) return 0; /* more than anything here counts */
            if (!keep_hash(table, hash_of(one.doc, one.length, list->hash))) return -1;
            if ((float)one.number < (float)list->least) continue; /* which is below it in 64 bits, too */
            one.list = (uint32_t)(list - table->lists);
            if (table->wanted && !keep_candidate(&table->near, one)) return -1;
            if (!offer(table, list, one.number)) return -1;
        }
        if (table->near.used > 2 * table->sieved + FEW && !sieve(table)) return -1;
    }
    table->rows += (size_t)batch->length;
    return 1;
}

/* Whether it is a table of two or three texts, the last one the document, and a number; notes how they are written. */
static int is_understood(Table *table, ArrowStream *stream) {
    ArrowSchema schema;
    int fits;
    if (stream->get_schema(stream, &schema)) return 0;
    fits = !strcmp(schema.format, "+s") && schema.n_children > 2 && schema.n_children <= TEXTS + 1;
    if (table->keys && schema.n_children != table->keys + 2) fits = 0; /* unlike the stream before */
    if (fits) table->keys = (int)schema.n_children - 2;
    for (int k = 0; fits && k <= table->keys; k++) {
        const char *format = schema.children[k]->format;
        fits = (!strcmp(format, "u") || !strcmp(format, "U") || !strcmp(format, "vu")) && !schema.children[k]->dictionary;
        table->formats[k] = format[0];
        if (schema.children[k]->name != NULL) strncpy(table->names[k], schema.children[k]->name, sizeof table->names[k] - 1);
    }
    fits = fits && !strcmp(schema.children[table->keys + 1]->format, "g");
    if (schema.release != NULL) schema.release(&schema);
    return fits;
}

/* What an engine says of a stream that failed: -1 with an exception where somebody has interrupted it, else 0: whoever
   asks it in another way gets its error. */
static int failed_stream(ArrowStream *stream) {
    const char *said = stream->get_last_error(stream);
    if (said == NULL || strstr(said, "INTERRUPT") == NULL) return 0;
    PyErr_SetString(PyExc_InterruptedError, said);
    return -1;
}

/* Take all batches; 0 where there is a doubt, -1 with an exception set. Python goes on meanwhile: engines may call it. */
static int take_batches(Table *table, ArrowStream *stream) {
    for (;;) {
        ArrowArray batch;
        PyThreadState *state;
        int failed, taken = 0;
        memset(&batch, 0, sizeof batch);
        state = PyEval_SaveThread();
        failed = stream->get_next(stream, &batch);
        if (!failed && batch.release != NULL) {
            if (batch.n_children == table->keys + 2) taken = take(table, &batch);
            batch.release(&batch);
        } else
            taken = 2;
        PyEval_RestoreThread(state);
        if (failed) return failed_stream(stream);
        if (taken == 2) return 1;
        if (taken < 0) PyErr_NoMemory();
        if (taken <= 0) return taken;
        if (PyErr_CheckSignals()) return -1;
    }
}

/* Take a stream and give it back at once, however it ends: an engine may answer nobody before that. */
static int take_stream(Table *table, PyObject *capsule) {
    ArrowStream *stream;
    PyThreadState *state;
    int taken;
    if (!PyCapsule_IsValid(capsule, "arrow_array_stream")) return 0;
    stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release == NULL) return 0;
    taken = is_understood(table, stream) ? take_batches(table, stream) : 0;
    state = PyEval_SaveThread();
    stream->release(stream);
    PyEval_RestoreThread(state);
    return taken;
}

/* Take all streams, one after another; 0 and -1 as above. */
static int take_all(Table *table, PyObject *streams) {
    PyObject *capsule, *each = PyObject_GetIter(streams);
    int taken = each == NULL ? -1 : 1;
    while (taken > 0 && (capsule = PyIter_Next(each)) != NULL) {
        taken = take_stream(table, capsule);
        Py_DECREF(capsule);
    }
    Py_XDECREF(each);
    return PyErr_Occurred() ? -1 : taken;
}

/* Whether all hashes of a bucket differ; slots is a table of a power of two, all 0, and more than there are hashes. */
static int differ(const Piece *piece, size_t number, uint64_t *slots, size_t mask) {
    int zeros = 0;
    for (; piece != NULL; piece = piece->before) {
        size_t here = (number - 1) % PIECE + 1;
        for (size_t i = 0; i < here; i++) {
            uint64_t hash = piece->hashes[i];
            size_t place = (size_t)(hash / BUCKETS) & mask;
            if (hash == 0 && zeros++) return 0;
            while (slots[place] != 0 && slots[place] != hash) place = (place + 1) & mask;
            if (slots[place] != 0) return 0;
            slots[place] = hash;
        }
        number -= here;
    }
    return 1;
}

/* Whether all hashes differ; -1 where memory ends. */
static int are_different(const Table *table) {
    size_t most = 0, room = 2;
    uint64_t *slots;
    int all = 1;
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) most = table->filled[bucket] > most ? table->filled[bucket] : most;
    while (room < 2 * most) room *= 2;
    if ((slots = memory_of(room * sizeof *slots)) == NULL) return -1;
    for (size_t bucket = 0; all && bucket < BUCKETS; bucket++) {
        memset(slots, 0, room * sizeof *slots);
        all = differ(table->buckets[bucket], table->filled[bucket], slots, room - 1);
    }
    free_memory(slots);
    return all;
}

/* A column that goes out, or a table of them. */
typedef struct Column {
    const char *format;
    char name[64];
    int64_t length;
    void *buffers[3]; /* the first says what is missing: nothing */
    int num_buffers, num_children;
    struct Column *children;
} Column;

#define TABLE "permed_measures.table"

static void free_column(Column *column) {
    for (int i = 0; i < column->num_children; i++) free_column(&column->children[i]);
    for (int i = 1; i < column->num_buffers; i++) free_memory(column->buffers[i]);
    free(column->children);
}

static void free_table(PyObject *capsule) {
    Column *table = PyCapsule_GetPointer(capsule, TABLE);
    free_column(table);
    free(table);
}

/* Make a column of so many buffers, with memory for the second one, and the third where its size is known. */
static int set_column(Column *column, const char *format, const char *name, size_t length, int buffers, size_t bytes) {
    column->format = format;
    strncpy(column->name, name, sizeof column->name - 1);
    column->length = (int64_t)length;
    column->num_buffers = buffers;
    if (buffers > 1) column->buffers[1] = memory_of(bytes);
    return buffers < 2 || column->buffers[1] != NULL;
}

static Column *table_of(int columns, size_t length) {
    Column *table = calloc(1, sizeof *table);
    if (table == NULL) return NULL;
    if ((table->children = calloc((size_t)columns, sizeof *table)) == NULL) {
        free(table);
        return NULL;
    }
    table->num_children = columns;
    set_column(table, "+s", "", length, 1, 0);
    return table;
}

/* Leave the numbers of a heap in order, the highest first. */
static void sort_heap(double *heap, size_t used) {
    while (used-- > 1) {
        double last = heap[used];
        heap[used] = heap[0];
        sink(heap, used, last);
    }
}

/* Make a column of texts: memory for so many, and so many bytes; where they begin, too. */
static int text_column(Column *column, const char *name, size_t number, size_t bytes) {
    if (!set_column(column, "U", name, number, 3, (number + 1) * sizeof(int64_t))) return 0;
    *(int64_t *)column->buffers[1] = 0;
    return (column->buffers[2] = memory_of(bytes)) != NULL;
}

static void put_text(Column *column, size_t place, const char *text, size_t length) {
    int64_t *ends = column->buffers[1];
    memcpy((char *)column->buffers[2] + ends[place], text, length);
    ends[place + 1] = ends[place] + (int64_t)length;
}

static const char *key_of(const List *list, int key) { return text_of(list) + (key ? list->lengths[0] : 0); }

/* Write a key of every list. */
static int key_column(const Table *table, Column *column, int key) {
    size_t bytes = 0;
    for (size_t i = 0; i < table->used; i++) bytes += table->lists[i].lengths[key];
    if (!text_column(column, table->names[key], table->used, bytes)) return 0;
    for (size_t i = 0; i < table->used; i++)
        put_text(column, i, key_of(&table->lists[i], key), table->lists[i].lengths[key]);
    return 1;
}

/* Write the best numbers of every list, in order; where one is asked for, that number. */
static int best_column(const Table *table, Column *column) {
    size_t total = 0;
    int64_t *ends;
    double *numbers;
    if (table->most == 1) {
        if (!set_column(column, "g", "best", table->used, 2, table->used * sizeof *numbers)) return 0;
        numbers = column->buffers[1];
        for (size_t i = 0; i < table->used; i++) numbers[i] = table->lists[i].least;
        return 1;
    }
    if (!set_column(column, "+L", "best", table->used, 2, (table->used + 1) * sizeof *ends)) return 0;
    if ((column->children = calloc(1, sizeof *column)) == NULL) return 0;
    column->num_children = 1;
    ends = column->buffers[1];
    *ends = 0;
    for (size_t i = 0; i < table->used; i++) ends[i + 1] = (int64_t)(total += table->lists[i].used);
    if (!set_column(column->children, "g", "item", total, 2, total * sizeof *numbers)) return 0;
    numbers = column->children->buffers[1];
    for (size_t i = 0; i < table->used; i++) {
        const List *list = &table->lists[i];
        if (!list->used) continue;
        sort_heap(list->best, list->used);
        memcpy(numbers + ends[i], list->best, list->used * sizeof *numbers);
    }
    return 1;
}

/* A row for each list: its keys, how many rows it has, its best numbers. NULL where memory ends. */
static Column *lists_found(const Table *table) {
    Column *found = table_of(table->keys + 2, table->used), *rows;
    int made = found != NULL;
    for (int k = 0; made && k < table->keys; k++) made = key_column(table, &found->children[k], k);
    if (made) {
        rows = &found->children[table->keys];
        made = set_column(rows, "l", "rows", table->used, 2, table->used * sizeof(int64_t));
        for (size_t i = 0; made && i < table->used; i++) ((int64_t *)rows->buffers[1])[i] = (int64_t)table->lists[i].rows;
    }
    if (made && best_column(table, &found->children[table->keys + 1])) return found;
    if (found != NULL) free_column(found);
    free(found);
    return NULL;
}

/* The rows that can be among the best, as 32-bit numbers too: the columns that came. NULL where memory ends. */
static Column *rows_found(Table *table) {
    size_t bytes[TEXTS] = {0}, row = 0, left;
    Column *found = table_of(table->keys + 2, table->near.used), *columns;
    int made = found != NULL;
    left = table->near.used;
    for (const Candidates *piece = table->near.first; piece != NULL; piece = piece->next)
        for (size_t i = 0; i < PIECE && left; i++, left--) {
            const Candidate *one = &piece->some[i];
            for (int k = 0; k < table->keys; k++) bytes[k] += table->lists[one->list].lengths[k];
            bytes[table->keys] += one->length;
        }
    for (int k = 0; made && k <= table->keys; k++)
        made = text_column(&found->children[k], table->names[k], table->near.used, bytes[k]);
    if (made) {
        columns = found->children;
        made = set_column(&columns[table->keys + 1], "g", "number", table->near.used, 2, table->near.used * sizeof(double));
    }
    if (!made) {
        if (found != NULL) free_column(found);
        free(found);
        return NULL;
    }
    for (const Candidates *piece = table->near.first; piece != NULL; piece = piece->next)
        for (size_t i = 0; i < PIECE && row < table->near.used; i++, row++) {
            const Candidate *one = &piece->some[i];
            const List *list = &table->lists[one->list];
            for (int k = 0; k < table->keys; k++) put_text(&columns[k], row, key_of(list, k), list->lengths[k]);
            put_text(&columns[table->keys], row, one->doc, one->length);
            ((double *)columns[table->keys + 1].buffers[1])[row] = one->number;
        }
    return found;
}

/* Streams, and what comes out of them, hold the table that they are of: whoever gives one back may be in any thread. */
static void give_back(PyObject *table) {
    PyGILState_STATE state;
    if (!Py_IsInitialized()) return;
    state = PyGILState_Ensure();
    Py_DECREF(table);
    PyGILState_Release(state);
}

static PyObject *held(PyObject *table) {
    PyGILState_STATE state = PyGILState_Ensure();
    Py_INCREF(table);
    PyGILState_Release(state);
    return table;
}

static void release_schema(ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
    if (schema->n_children) free(schema->children[0]);
    free(schema->children);
    give_back(schema->private_data);
    schema->release = NULL;
}

static int fill_schema(ArrowSchema *schema, const Column *column, PyObject *table) {
    size_t number = (size_t)column->num_children;
    ArrowSchema *below = NULL;
    memset(schema, 0, sizeof *schema);
    if (number) {
        schema->children = malloc(number * sizeof *schema->children);
        below = calloc(number, sizeof *below);
        if (schema->children == NULL || below == NULL) {
            free(schema->children);
            free(below);
            return 0;
        }
    }
    schema->format = column->format;
    schema->name = column->name;
    schema->n_children = (int64_t)number;
    schema->private_data = held(table);
    schema->release = release_schema;
    for (size_t i = 0; i < number; i++) schema->children[i] = &below[i];
    for (size_t i = 0; i < number; i++)
        if (!fill_schema(&below[i], &column->children[i], table)) {
            release_schema(schema);
            return 0;
        }
    return 1;
}

static void release_array(ArrowArray *array) {
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
    if (array->n_children) free(array->children[0]);
    free(array->children);
    give_back(array->private_data);
    array->release = NULL;
}

static int fill_array(ArrowArray *array, Column *column, PyObject *table) {
    size_t number = (size_t)column->num_children;
    ArrowArray *below = NULL;
    memset(array, 0, sizeof *array);
    if (number) {
        array->children = malloc(number * sizeof *array->children);
        below = calloc(number, sizeof *below);
        if (array->children == NULL || below == NULL) {
            free(array->children);
            free(below);
            return 0;
        }
    }
    array->length = column->length;
    array->n_buffers = column->num_buffers;
    array->buffers = (const void **)column->buffers;
    array->n_children = (int64_t)number;
    array->private_data = held(table);
    array->release = release_array;
    for (size_t i = 0; i < number; i++) array->children[i] = &below[i];
    for (size_t i = 0; i < number; i++)
        if (!fill_array(&below[i], &column->children[i], table)) {
            release_array(array);
            return 0;
        }
    return 1;
}

typedef struct {
    PyObject *capsule;
    Column *table;
    int done;
} Outgoing;

static int next_schema(ArrowStream *stream, ArrowSchema *schema) {
    Outgoing *outgoing = stream->private_data;
    return fill_schema(schema, outgoing->table, outgoing->capsule) ? 0 : 12; /* ENOMEM */
}

static int next_array(ArrowStream *stream, ArrowArray *array) {
    Outgoing *outgoing = stream->private_data;
    if (outgoing->done) {
        memset(array, 0, sizeof *array);
        return 0;
    }
    outgoing->done = 1;
    return fill_array(array, outgoing->table, outgoing->capsule) ? 0 : 12;
}

static const char *no_error(ArrowStream *stream) {
    (void)stream;
    return "memory ended";
}

static void release_stream(ArrowStream *stream) {
    Outgoing *outgoing = stream->private_data;
    give_back(outgoing->capsule);
    free(outgoing);
    stream->release = NULL;
}

static void free_stream(PyObject *capsule) {
    ArrowStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release != NULL) stream->release(stream);
    free(stream);
}

const char arrow_stream_doc[] = "arrow_stream(table)\n--\n\nA table that best_lists() has returned, as an Arrow stream, each time a new one.";

PyObject *arrow_stream(PyObject *module, PyObject *capsule) {
    ArrowStream *stream;
    Outgoing *outgoing;
    PyObject *made;
    Column *table = PyCapsule_GetPointer(capsule, TABLE);
    (void)module;
    if (table == NULL) return NULL;
    stream = calloc(1, sizeof *stream);
    outgoing = calloc(1, sizeof *outgoing);
    if (stream == NULL || outgoing == NULL || (made = PyCapsule_New(stream, "arrow_array_stream", free_stream)) == NULL) {
        free(stream);
        free(outgoing);
        return PyErr_NoMemory();
    }
    *outgoing = (Outgoing){held(capsule), table, 0};
    *stream = (ArrowStream){next_schema, next_array, no_error, release_stream, outgoing};
    return made;
}

/* A capsule of what was found, which owns it from here on. */
static PyObject *capsule_of(Column *found) {
    PyObject *capsule = found == NULL ? PyErr_NoMemory() : PyCapsule_New(found, TABLE, free_table);
    if (capsule == NULL && found != NULL) {
        free_column(found);
        free(found);
    }
    return capsule;
}

static PyObject *found_in(Table *table) {
    Column *lists, *rows = NULL;
    PyObject *held_lists, *held_rows = NULL;
    PyThreadState *state = PyEval_SaveThread();
    lists = lists_found(table);
    if (table->wanted && sieve(table) && table->wanted) rows = rows_found(table);
    PyEval_RestoreThread(state);
    held_lists = capsule_of(lists);
    if (table->wanted)
        held_rows = capsule_of(rows);
    else
        Py_INCREF(held_rows = Py_None);
    if (held_lists != NULL && held_rows != NULL)
        return Py_BuildValue("nnNN", (Py_ssize_t)table->rows, (Py_ssize_t)table->used, held_lists, held_rows);
    Py_XDECREF(held_lists);
    Py_XDECREF(held_rows);
    return NULL;
}

const char best_lists_doc[] =
    "best_lists(streams, most, wanted, finite, bytes)\n--\n\n"
    "The lists of Arrow streams of one or two texts, which tell them apart, a text of the document and a number: None\n"
    "where a row lacks one of these, where a number is NaN, or is not finite if it has to be, where two rows may be the\n"
    "same, or where it takes more memory; else how many rows there are, how many lists, a table of these (the texts,\n"
    "rows, and best: the highest numbers in order, so many at most, or the highest number where that is one), and a\n"
    "table of the rows (the texts, the document, number) that are not below the lowest of them, as 32-bit numbers, or\n"
    "None where they are more than are wanted; both for arrow_stream().";

PyObject *best_lists(PyObject *module, PyObject *arguments) {
    PyObject *streams, *answer = NULL;
    Table table;
    Py_ssize_t most, wanted, bytes;
    int all;
    memset(&table, 0, sizeof table);
    if (!PyArg_ParseTuple(arguments, "Onnpn", &streams, &most, &wanted, &table.finite, &bytes)) return NULL;
    if (most < 0 || most > UINT32_MAX || wanted < 0 || bytes < 0) Py_RETURN_NONE;
    table.most = (size_t)most;
    table.wanted = (size_t)wanted;
    table.bytes = (size_t)bytes;
    table.seed = (uint64_t)PyObject_Hash(module) ^ (uint64_t)(uintptr_t)&table;
    all = grow_slots(&table) ? take_all(&table, streams) : -1;
    if (all > 0 && !table.keys) all = 0; /* there was no stream */
    if (all > 0) {
        PyThreadState *state = PyEval_SaveThread();
        all = are_different(&table);
        clear(&table.pieces);
        PyEval_RestoreThread(state);
        if (all > 0) answer = found_in(&table);
    }
    if (all < 0 && !PyErr_Occurred()) PyErr_NoMemory();
    clear_table(&table);
    if (!all) Py_RETURN_NONE;
    return answer;
}
