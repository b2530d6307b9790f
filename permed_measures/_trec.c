/* TREC runs, from the bytes of a file to rankings: what files/trec.py and ranking.py define, by several threads.

   The lines of a query have to be together: then only the largest query is ever held. Whatever is wrong ends the reading, and is
   handed back with its line, for which the plain reader words the error. Threads take whole queries under a lock, read them
   on their own, and make no Python object; all of those are made at the end. What is packed is unpacked by a function of
   Python's, which the thread that takes calls while others read. */

#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifndef _WIN32
#include <errno.h>
#include <float.h>
#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHUNK ((size_t)2 << 20)
#define PIECE ((size_t)1 << 17) /* what is unpacked stays in the processor's cache until it is copied */
#define LARGEST_CHUNK ((size_t)2 << 30) /* places in a chunk fit into 32 bits */
#define FIELDS 6
#define LOOK_NS 50000000 /* how often the main thread looks whether it was interrupted */

typedef unsigned char Byte;

enum { SOUND, FAULT, AGAIN, MIXED, TOO_LARGE, NO_MEMORY, UNREADABLE };
enum { WORD, SPACE, LINE_FEED, NUL };

static const Byte kinds[256] = {
    ['\0'] = NUL, ['\t'] = SPACE, ['\n'] = LINE_FEED, ['\v'] = SPACE, ['\f'] = SPACE, ['\r'] = SPACE, [' '] = SPACE,
};

typedef struct {
    Byte *at;
    size_t size, room;
} Buffer;

typedef struct {
    const Byte *at;
    size_t size;
} Text;

typedef struct { /* a line of a run */
    double score;
    const Byte *doc;
    uint64_t hash;
    uint32_t size, line;
} Entry;

typedef struct { /* places are those in the arena of its chunk */
    size_t query, ids, scores, hits;
    size_t query_size, ids_size;
    uint32_t num_ret, num_scores, num_hits;
} Group;

typedef struct {
    uint32_t rank, judged;
} Hit;

typedef struct {
    Buffer arena;
    Group *groups;
    size_t count, room;
    uint64_t lines, longer, line, first;
    Text fault;
    int status;
} Chunk;

typedef struct {
    size_t at, size;
    uint64_t hash;
} Judged; /* a document, or a query whose documents are some of the others */

typedef struct {
    Judged id;
    uint32_t first, count;
} JudgedQuery;

typedef struct {
    int descriptor, stop, at_end, error, running;
    PyObject *unpack, *raised[3];
    pthread_mutex_t lock;
    pthread_cond_t ended;
    Buffer rest;
    Chunk **chunks;
    size_t count, room, depth;
    int in_doubles, whole, cut, judged;
    uint64_t seed, *seen;
    size_t num_seen, seen_room;
    Buffer names;
    JudgedQuery *queries;
    Judged *documents;
    uint32_t *table;
    size_t num_queries, num_documents, table_room;
    locale_t numbers;
} Job;

typedef struct { /* what a thread needs, kept from chunk to chunk */
    Job *job;
    Buffer text;
    Entry *entries;
    size_t count, room;
    uint32_t *table, *places;
    double *scores;
    Hit *hits;
    size_t table_room, places_room, scores_room, hits_room;
} Worker;

static int enough(void *memory, size_t *room, size_t wanted, size_t unit) {
    void **at = memory, *more;
    size_t now = *room ? *room : 64;
    if (wanted <= *room) return 1;
    while (now < wanted) now += now / 2;
    if (now > SIZE_MAX / unit || (more = realloc(*at, now * unit)) == NULL) return 0;
    *at = more;
    *room = now;
    return 1;
}

static int append(Buffer *buffer, const void *bytes, size_t size) {
    if (!enough(&buffer->at, &buffer->room, buffer->size + size + 8, 1)) return 0;
    if (size) memcpy(buffer->at + buffer->size, bytes, size);
    buffer->size += size;
    return 1;
}

static uint64_t hashed(const Byte *text, size_t size, uint64_t seed) {
    uint64_t hash = seed ^ size * 0x9E3779B97F4A7C15u, word;
    for (; size >= 8; text += 8, size -= 8) {
        memcpy(&word, text, 8);
        hash = (hash ^ word) * 0x9FB21C651E98DF25u;
        hash ^= hash >> 29;
    }
    word = 0;
    if (size) memcpy(&word, text, size);
    hash = (hash ^ word) * 0x9FB21C651E98DF25u;
    hash ^= hash >> 32;
    hash *= 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
}

static int alike(const Byte *a, size_t a_size, const Byte *b, size_t b_size) {
    return a_size == b_size && memcmp(a, b, a_size) == 0;
}

/* Return where text stops being UTF-8, as Python reads it; the end where it does not. */
static const Byte *utf_8_end(const Byte *at, const Byte *end) {
    while (at < end) {
        uint64_t word;
        int more = 0;
        uint32_t low = 0x80, high = 0xBF;
        if (end - at >= 8 && (memcpy(&word, at, 8), !(word & 0x8080808080808080u))) {
            at += 8;
            continue;
        }
        if (*at < 0x80) {
            at++;
            continue;
        }
        if (*at >= 0xC2 && *at <= 0xDF) more = 1;
        else if ((*at & 0xF0) == 0xE0) more = 2, low = *at == 0xE0 ? 0xA0 : 0x80, high = *at == 0xED ? 0x9F : 0xBF;
        else if (*at >= 0xF0 && *at <= 0xF4) more = 3, low = *at == 0xF0 ? 0x90 : 0x80, high = *at == 0xF4 ? 0x8F : 0xBF;
        else return at;
        if (end - at <= more || at[1] < low || at[1] > high) return at;
        for (int place = 2; place <= more; place++)
            if ((at[place] & 0xC0) != 0x80) return at;
        at += more + 1;
    }
    return end;
}

static int is_word(const Byte *text, size_t size, const char *word) {
    if (strlen(word) != size) return 0;
    for (size_t place = 0; place < size; place++)
        if ((text[place] | 0x20) != (Byte)word[place]) return 0;
    return 1;
}

static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Read a number as Python's float() does, but for NaN and underscores; whether it is one. */
static int number(const Byte *text, size_t size, locale_t numbers, double *value) {
    const Byte *at = text, *end = text + size, *digits;
    uint64_t mantissa = 0;
    int significant = 0, exponent = 0, any = 0, negative = 0, exact = 1;
    char copy[64], *all = copy, *stop;
    if (at < end && (*at == '-' || *at == '+')) negative = *at++ == '-';
    digits = at;
    for (int point = 0; at < end; at++) {
        if (*at == '.' && !point) {
            point = 1;
            continue;
        }
        if (*at < '0' || *at > '9') break;
        any = 1;
        if (significant < 19) {
            mantissa = mantissa * 10 + (*at - '0');
            significant += mantissa != 0;
            exponent -= point;
        } else exact = 0;
    }
    if (!any) {
        size_t left = (size_t)(end - digits);
        if (!is_word(digits, left, "inf") && !is_word(digits, left, "infinity")) return 0;
        *value = negative ? -HUGE_VAL : HUGE_VAL;
        return 1;
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '-' || *at == '+')) at++;
        if (at == end) return 0;
        for (; at < end; at++)
            if (*at < '0' || *at > '9') return 0;
        exact = 0;
    }
    if (at != end) return 0;
    if (exact && exponent >= -22 && mantissa <= (uint64_t)1 << 53) {
        *value = (double)mantissa / tens[-exponent];
        if (negative) *value = -*value;
        return 1;
    }
#if LDBL_MANT_DIG == 64
    if (exact && exponent >= -22) { /* sure, unless it is next to the middle between two doubles */
        long double near = (long double)mantissa / (long double)tens[-exponent];
        uint64_t bits;
        memcpy(&bits, &near, 8);
        if ((bits & 0x7FF) < 0x3FF || (bits & 0x7FF) > 0x401) {
            *value = negative ? -(double)near : (double)near;
            return 1;
        }
    }
#endif
    if (size >= sizeof copy && (all = malloc(size + 1)) == NULL) return -1;
    memcpy(all, text, size);
    all[size] = '\0';
    *value = strtod_l(all, &stop, numbers);
    if (all != copy) free(all);
    return 1;
}

static Text first_word(const Byte *line, const Byte *end) {
    Text word;
    while (line < end && kinds[*line] == SPACE) line++;
    word.at = line;
    while (line < end && kinds[*line] == WORD) line++;
    word.size = (size_t)(line - word.at);
    return word;
}

/* Return where the last query of some lines starts, 0 where it may have started before them. */
static size_t last_query(const Byte *text, size_t size) {
    size_t end = size, start, boundary = 0;
    Text query = {NULL, 0};
    while (end && text[end - 1] != '\n') end--;
    for (; end; end = start) {
        Text word;
        for (start = end - 1; start && text[start - 1] != '\n'; start--) continue;
        word = first_word(text + start, text + end);
        if (word.size == 0 || *word.at == '#') continue;
        if (query.at == NULL) query = word;
        else if (!alike(query.at, query.size, word.at, word.size)) return boundary;
        boundary = start;
    }
    return 0;
}

/* Read some bytes, at most so many; -1 where that fails. */
static ssize_t read_some(Job *job, Byte *into, size_t size) {
    PyGILState_STATE state;
    PyObject *piece;
    char *bytes;
    Py_ssize_t got = 0;
    if (job->unpack == NULL) return read(job->descriptor, into, size);
    state = PyGILState_Ensure();
    piece = PyObject_CallFunction(job->unpack, "n", (Py_ssize_t)(size < PIECE ? size : PIECE));
    if (piece && PyBytes_AsStringAndSize(piece, &bytes, &got) == 0 && (size_t)got > size)
        PyErr_SetString(PyExc_ValueError, "more bytes than were asked for");
    if (PyErr_Occurred()) {
        PyErr_Fetch(&job->raised[0], &job->raised[1], &job->raised[2]);
        errno = EIO;
        got = -1;
    } else memcpy(into, bytes, (size_t)got);
    Py_XDECREF(piece);
    PyGILState_Release(state);
    return got;
}

/* Read on until there is a whole query; whether there was anything. The lock is held. */
static int take(Job *job, Buffer *text, Chunk *chunk) {
    size_t wanted = CHUNK, cut = 0;
    text->size = 0;
    if (!append(text, job->rest.at, job->rest.size)) goto no_memory;
    job->rest.size = 0;
    for (;;) {
        while (!job->at_end && text->size < wanted) {
            ssize_t got;
            if (!enough(&text->at, &text->room, wanted + 8, 1)) goto no_memory;
            got = read_some(job, text->at + text->size, wanted - text->size);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) {
                job->error = errno;
                chunk->status = UNREADABLE;
                return 1;
            }
            job->at_end = got == 0;
            text->size += (size_t)got;
        }
        if (job->at_end) return text->size > 0;
        cut = last_query(text->at, text->size);
        if (cut) break;
        if (wanted >= LARGEST_CHUNK) {
            chunk->status = TOO_LARGE;
            return 1;
        }
        wanted *= 2;
    }
    if (!append(&job->rest, text->at + cut, text->size - cut)) goto no_memory;
    text->size = cut;
    return 1;
no_memory:
    chunk->status = NO_MEMORY;
    return 1;
}

/* Whether a comes before b: by score, then by id, both descending. */
static int before(const Job *job, const Entry *a, const Entry *b) {
    int order;
    if (job->in_doubles ? a->score != b->score : (float)a->score != (float)b->score) return a->score > b->score;
    order = memcmp(a->doc, b->doc, a->size < b->size ? a->size : b->size);
    return order ? order > 0 : a->size > b->size;
}

/* Sort numbers of entries; merging, as qsort() has no place for what they mean, and may be quadratic. */
static void sort_entries(const Job *job, const Entry *entries, uint32_t *numbers, uint32_t *spare, size_t count) {
    size_t half = count / 2, left = 0, right = half, place = 0;
    if (count < 2) return;
    sort_entries(job, entries, numbers, spare, half);
    sort_entries(job, entries, numbers + half, spare, count - half);
    if (before(job, &entries[numbers[half - 1]], &entries[numbers[half]])) return;
    memcpy(spare, numbers, half * sizeof *numbers);
    while (left < half)
        if (right == count || before(job, &entries[spare[left]], &entries[numbers[right]]))
            numbers[place++] = spare[left++];
        else numbers[place++] = numbers[right++];
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static int by_rank(const void *a, const void *b) {
    uint32_t left = ((const Hit *)a)->rank, right = ((const Hit *)b)->rank;
    return (left > right) - (left < right);
}

static void sink(double *heap, size_t count, size_t place) {
    for (;;) {
        size_t least = 2 * place + 1;
        double moved;
        if (least >= count) return;
        if (least + 1 < count && heap[least + 1] < heap[least]) least++;
        if (heap[place] <= heap[least]) return;
        moved = heap[place], heap[place] = heap[least], heap[least] = moved;
        place = least;
    }
}

/* Put the highest scores into worker->scores, ascending, and return how many. */
static size_t highest(Worker *worker, size_t wanted) {
    double *heap = worker->scores;
    size_t count = worker->count < wanted ? worker->count : wanted;
    for (size_t place = 0; place < count; place++) heap[place] = worker->entries[place].score;
    if (count < worker->count) {
        for (size_t place = count / 2; place-- > 0;) sink(heap, count, place);
        for (size_t place = count; place < worker->count; place++)
            if (worker->entries[place].score > heap[0]) {
                heap[0] = worker->entries[place].score;
                sink(heap, count, 0);
            }
    }
    for (size_t place = 1; place < count; place++)
        if (heap[place - 1] < heap[place]) { /* most lists come in descending order */
            qsort(heap, count, sizeof *heap, ascending);
            return count;
        }
    for (size_t place = 0; place < count / 2; place++) {
        double moved = heap[place];
        heap[place] = heap[count - 1 - place], heap[count - 1 - place] = moved;
    }
    return count;
}

/* Keep the line that is at a place, without its line feed. */
static int keep_line(const Worker *worker, Chunk *chunk, const Byte *at) {
    const Byte *start = at, *end;
    while (start > worker->text.at && start[-1] != '\n') start--;
    end = memchr(start, '\n', (size_t)(worker->text.at + worker->text.size - start));
    chunk->fault.size = (size_t)((end ? end : worker->text.at + worker->text.size) - start);
    chunk->fault.at = malloc(chunk->fault.size + 1);
    if (chunk->fault.at == NULL) return NO_MEMORY;
    memcpy((Byte *)chunk->fault.at, start, chunk->fault.size);
    return FAULT;
}

/* Enter all documents of the query into the table; AGAIN where two are the same. */
static int enter(Worker *worker, Chunk *chunk) {
    size_t room = 64, mask;
    while (room < 2 * worker->count) room *= 2;
    if (!enough(&worker->table, &worker->table_room, room, sizeof *worker->table)) return NO_MEMORY;
    memset(worker->table, 0, room * sizeof *worker->table);
    mask = room - 1;
    for (size_t number = 0; number < worker->count; number++) {
        const Entry *entry = &worker->entries[number], *other;
        size_t slot = entry->hash & mask;
        for (; worker->table[slot]; slot = (slot + 1) & mask) {
            other = &worker->entries[worker->table[slot] - 1];
            if (other->hash == entry->hash && alike(other->doc, other->size, entry->doc, entry->size)) {
                chunk->line = entry->line;
                chunk->first = other->line;
                return keep_line(worker, chunk, entry->doc) == FAULT ? AGAIN : NO_MEMORY;
            }
        }
        worker->table[slot] = (uint32_t)number + 1;
    }
    return SOUND;
}

/* Return the number of the entry with a judged document, plus one; 0 where there is none. */
static uint32_t returned(const Worker *worker, const Judged *judged) {
    size_t room = 64, slot;
    while (room < 2 * worker->count) room *= 2;
    for (slot = judged->hash & (room - 1); worker->table[slot]; slot = (slot + 1) & (room - 1)) {
        const Entry *entry = &worker->entries[worker->table[slot] - 1];
        if (entry->hash == judged->hash &&
            alike(entry->doc, entry->size, worker->job->names.at + judged->at, judged->size))
            return worker->table[slot];
    }
    return 0;
}

static const JudgedQuery *judged_query(const Job *job, Text query) {
    uint64_t hash = hashed(query.at, query.size, job->seed);
    if (job->table_room == 0) return NULL;
    for (size_t slot = hash & (job->table_room - 1); job->table[slot]; slot = (slot + 1) & (job->table_room - 1)) {
        const JudgedQuery *found = &job->queries[job->table[slot] - 1];
        if (found->id.hash == hash && alike(job->names.at + found->id.at, found->id.size, query.at, query.size))
            return found;
    }
    return NULL;
}

/* How many of ascending scores are above this one, to the precision of the order. */
static size_t above(const Job *job, const double *scores, size_t count, double score) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (job->in_doubles ? scores[middle] > score : (float)scores[middle] > (float)score) high = middle;
        else low = middle + 1;
    }
    return count - low;
}

static int have_ties(const double *scores, size_t count) {
    for (size_t place = 1; place < count; place++)
        if ((float)scores[place - 1] == (float)scores[place]) return 1;
    return 0;
}

static int add_scores(Chunk *chunk, Group *group, const double *scores, size_t count) {
    group->scores = chunk->arena.size;
    group->num_scores = (uint32_t)count;
    return append(&chunk->arena, scores, count * sizeof *scores);
}

/* Write the ids of some entries with a space between any two: no id holds one. */
static int add_ids(Worker *worker, Chunk *chunk, Group *group, const uint32_t *numbers, size_t count) {
    group->ids = chunk->arena.size;
    for (size_t place = 0; place < count; place++) {
        const Entry *entry = &worker->entries[numbers[place]];
        if ((place && !append(&chunk->arena, " ", 1)) || !append(&chunk->arena, entry->doc, entry->size)) return 0;
    }
    group->ids_size = chunk->arena.size - group->ids;
    return 1;
}

/* Give what can be in the top in any order of ties, and what is judged, in the order of the file. */
static int cut(Worker *worker, Chunk *chunk, Group *group, const JudgedQuery *judged, float lowest) {
    const Job *job = worker->job;
    uint32_t *kept = worker->places, *numbers = worker->places + worker->count;
    size_t count = 0;
    for (size_t place = 0; place < worker->count; place++) kept[place] = (float)worker->entries[place].score >= lowest;
    for (uint32_t place = 0; judged && place < judged->count; place++) {
        uint32_t found = returned(worker, &job->documents[judged->first + place]);
        if (found) kept[found - 1] = 1;
    }
    for (size_t place = 0; place < worker->count; place++)
        if (kept[place]) {
            worker->scores[count] = worker->entries[place].score;
            numbers[count++] = (uint32_t)place;
        }
    return add_ids(worker, chunk, group, numbers, count) && add_scores(chunk, group, worker->scores, count);
}

static int add_words(Chunk *chunk, Group *group, uint32_t first, uint32_t second) {
    uint32_t words[2] = {first, second};
    group->num_hits += 2;
    return append(&chunk->arena, words, sizeof words);
}

/* Write how many documents come before each tie group of several, and how many it has. */
static int add_ties(Chunk *chunk, Group *group, const double *scores, size_t count, int in_doubles) {
    for (size_t end = count, start; end; end = start) {
        double score = scores[end - 1];
        for (start = end - 1; start; start--)
            if (in_doubles ? scores[start - 1] != score : (float)scores[start - 1] != (float)score) break;
        if (end - start > 1 && !add_words(chunk, group, (uint32_t)(count - end), (uint32_t)(end - start))) return 0;
    }
    return 1;
}

/* Give what is judged, and whatever has the 32-bit score of such a document, in the order of the file; of each its place there
   and how many have a higher score; then the tie groups of 32-bit scores and of 64-bit ones. Two words come first: whether
   scores fall from line to line, and how many words are not of the latter. Scores are all there, ascending. */
static int judged_only(Worker *worker, Chunk *chunk, Group *group, const JudgedQuery *judged) {
    const Job *job = worker->job;
    const double *scores = worker->scores;
    size_t count = worker->count, kept = 0;
    uint32_t *is_kept = worker->places, *is_shared = is_kept + count, *numbers = is_shared + count, words[2] = {1, 0};
    int shared = 0;
    memset(is_kept, 0, 2 * count * sizeof *is_kept);
    for (uint32_t place = 0; place < judged->count; place++) {
        uint32_t found = returned(worker, &job->documents[judged->first + place]);
        size_t start;
        if (!found) continue;
        is_kept[found - 1] = 1;
        start = above(job, scores, count, worker->entries[found - 1].score);
        if (start + 1 < count && (float)scores[count - start - 2] == (float)scores[count - start - 1])
            shared = is_shared[start] = 1;
    }
    for (size_t place = 0; place < count; place++) {
        double score = worker->entries[place].score;
        if (place && score > worker->entries[place - 1].score) words[0] = 0;
        if (is_kept[place] || (shared && is_shared[above(job, scores, count, score)])) numbers[kept++] = (uint32_t)place;
    }
    if (!add_ids(worker, chunk, group, numbers, kept)) return 0;
    group->scores = chunk->arena.size;
    group->num_scores = (uint32_t)kept;
    for (size_t place = 0; place < kept; place++)
        if (!append(&chunk->arena, &worker->entries[numbers[place]].score, sizeof *scores)) return 0;
    group->hits = chunk->arena.size;
    if (!add_words(chunk, group, 0, 0)) return 0;
    for (size_t place = 0; place < kept; place++) {
        uint32_t number = numbers[place];
        if (!add_words(chunk, group, number, (uint32_t)above(job, scores, count, worker->entries[number].score))) return 0;
    }
    if (!add_ties(chunk, group, scores, count, 0)) return 0;
    words[1] = group->num_hits;
    memcpy(chunk->arena.at + group->hits, words, sizeof words);
    return add_ties(chunk, group, scores, count, 1);
}

/* Rank the judged documents that were returned. Of ranks there is one for each entry, 0 where it has none, or none at all. */
static int add_hits(Worker *worker, Chunk *chunk, Group *group, const JudgedQuery *judged, size_t num_scores, uint32_t *ranks) {
    const Job *job = worker->job;
    size_t count = 0;
    if (!enough(&worker->hits, &worker->hits_room, (size_t)(judged ? judged->count : 0) + 1, sizeof *worker->hits)) return 0;
    for (uint32_t place = 0; judged && place < judged->count; place++) {
        uint32_t found = returned(worker, &job->documents[judged->first + place]), rank;
        if (!found) continue;
        rank = ranks ? ranks[found - 1]
                     : (uint32_t)above(job, worker->scores, num_scores, worker->entries[found - 1].score) + 1;
        if (!rank) continue;
        worker->hits[count].rank = rank;
        worker->hits[count++].judged = judged->first + place;
    }
    qsort(worker->hits, count, sizeof *worker->hits, by_rank);
    group->hits = chunk->arena.size;
    group->num_hits = (uint32_t)count;
    return append(&chunk->arena, worker->hits, count * sizeof *worker->hits);
}

/* Make of all lines of a query what is to be kept of it. */
static int finish(Worker *worker, Chunk *chunk, Text query) {
    const Job *job = worker->job;
    const JudgedQuery *judged = judged_query(job, query);
    size_t wanted = job->whole || job->judged ? worker->count : job->depth + 1, num_scores, count = 0, top, room = 2 * worker->count + 1;
    uint32_t *numbers, *ranks;
    double lowest;
    Group *group;
    int status = enter(worker, chunk);
    if (status != SOUND) return status;
    if (!enough(&worker->places, &worker->places_room, room + worker->count, sizeof *worker->places) ||
        !enough(&worker->scores, &worker->scores_room, worker->count, sizeof *worker->scores) ||
        !enough(&chunk->groups, &chunk->room, chunk->count + 1, sizeof *chunk->groups))
        return NO_MEMORY;
    group = &chunk->groups[chunk->count++];
    memset(group, 0, sizeof *group);
    group->query = chunk->arena.size;
    group->query_size = query.size;
    group->num_ret = (uint32_t)worker->count;
    if (!append(&chunk->arena, query.at, query.size)) return NO_MEMORY;
    if (job->judged && judged == NULL) return SOUND;
    num_scores = highest(worker, wanted);
    if (job->judged) return judged_only(worker, chunk, group, judged) ? SOUND : NO_MEMORY;
    top = num_scores < job->depth + 1 ? num_scores : job->depth + 1;
    lowest = worker->scores[num_scores - top];
    if (job->cut) return cut(worker, chunk, group, judged, (float)lowest) ? SOUND : NO_MEMORY;
    status = have_ties(worker->scores, num_scores);
    if (status && !add_scores(chunk, group, worker->scores, num_scores)) return NO_MEMORY;
    ranks = worker->places, numbers = worker->places + worker->count;
    for (size_t place = 0; place < worker->count; place++) {
        ranks[place] = 0;
        if ((job->whole && status) || (job->in_doubles ? worker->entries[place].score >= lowest
                                                      : (float)worker->entries[place].score >= (float)lowest))
            numbers[count++] = (uint32_t)place;
    }
    sort_entries(job, worker->entries, numbers, numbers + count, count);
    top = job->whole && status ? count : count < job->depth ? count : job->depth;
    for (size_t place = 0; place < top; place++) ranks[numbers[place]] = (uint32_t)place + 1;
    top = count < job->depth ? count : job->depth;
    if (!add_ids(worker, chunk, group, numbers, top)) return NO_MEMORY;
    return add_hits(worker, chunk, group, judged, num_scores, job->whole && !status ? NULL : ranks) ? SOUND : NO_MEMORY;
}

static int all_digits(Text text) {
    for (size_t place = 0; place < text.size; place++)
        if (text.at[place] < '0' || text.at[place] > '9') return 0;
    return text.size > 0;
}

/* Read a line from its first character that is no white space on; return where it ends, NULL where it is not sound. */
static const Byte *read_line(const Byte *at, Text *fields, uint64_t *longer) {
    for (int place = 0; place < FIELDS; place++) {
        fields[place].at = at;
        while (kinds[*at] == WORD) at++;
        fields[place].size = (size_t)(at - fields[place].at);
        if (fields[place].size == 0) return NULL;
        while (kinds[*at] == SPACE) at++;
    }
    if (*at == '\n') return at;
    if (!all_digits(fields[3])) return NULL;
    while (kinds[*at] == WORD || kinds[*at] == SPACE) at++;
    ++*longer;
    return *at == '\n' ? at : NULL;
}

/* Read all lines of a chunk; its text ends with a line feed. */
static int read_chunk(Worker *worker, Chunk *chunk) {
    const Byte *at = worker->text.at, *end = at + worker->text.size, *good = utf_8_end(at, end), *line, *next;
    Text query = {NULL, 0}, fields[FIELDS];
    int status;
    worker->count = 0;
    for (; at < end; at = next + 1, chunk->lines++) {
        Entry *entry;
        line = at;
        while (kinds[*at] == SPACE) at++;
        next = *at == '\n' || *at == '#' ? memchr(at, '\n', (size_t)(end - at)) : read_line(at, fields, &chunk->longer);
        chunk->line = chunk->lines;
        if (next != NULL && (*at == '\n' || *at == '#')) {
            if (next > good) good = utf_8_end(next, end); /* what a comment holds matters to nobody */
            continue;
        }
        if (next == NULL || next > good) return keep_line(worker, chunk, line);
        if (!alike(query.at, query.size, fields[0].at, fields[0].size)) {
            if (worker->count && (status = finish(worker, chunk, query)) != SOUND) return status;
            worker->count = 0;
            query = fields[0];
        }
        if (!enough(&worker->entries, &worker->room, worker->count + 1, sizeof *worker->entries)) return NO_MEMORY;
        entry = &worker->entries[worker->count++];
        status = number(fields[4].at, fields[4].size, worker->job->numbers, &entry->score);
        if (status <= 0) return status < 0 ? NO_MEMORY : keep_line(worker, chunk, line);
        entry->doc = fields[2].at;
        entry->size = (uint32_t)fields[2].size;
        entry->line = (uint32_t)chunk->lines;
        entry->hash = hashed(entry->doc, entry->size, worker->job->seed);
    }
    return worker->count ? finish(worker, chunk, query) : SOUND;
}

/* Note the queries of a chunk; MIXED where one was there before. The lock is held. */
static int note_queries(Job *job, const Chunk *chunk) {
    for (size_t place = 0; place < chunk->count; place++) {
        const Group *group = &chunk->groups[place];
        uint64_t hash = hashed(chunk->arena.at + group->query, group->query_size, job->seed) | 1;
        size_t slot;
        if (2 * (job->num_seen + 1) > job->seen_room) {
            size_t room = job->seen_room ? 2 * job->seen_room : 1024;
            uint64_t *more = calloc(room, sizeof *more);
            if (more == NULL) return NO_MEMORY;
            for (size_t old = 0; old < job->seen_room; old++) {
                if (!job->seen[old]) continue;
                for (slot = (job->seen[old] >> 1) & (room - 1); more[slot]; slot = (slot + 1) & (room - 1)) continue;
                more[slot] = job->seen[old];
            }
            free(job->seen);
            job->seen = more;
            job->seen_room = room;
        }
        for (slot = (hash >> 1) & (job->seen_room - 1); job->seen[slot]; slot = (slot + 1) & (job->seen_room - 1))
            if (job->seen[slot] == hash) return MIXED;
        job->seen[slot] = hash;
        job->num_seen++;
    }
    return SOUND;
}

static void *work(void *argument) {
    Worker worker = {.job = argument};
    Job *job = argument;
    PyGILState_STATE state = PyGILState_UNLOCKED;
    PyThreadState *own = NULL;
    if (job->unpack) { /* what Python needs to know a thread is costly: it is kept from piece to piece */
        state = PyGILState_Ensure();
        own = PyEval_SaveThread();
    }
    pthread_mutex_lock(&job->lock);
    while (!job->stop) {
        Chunk *chunk = calloc(1, sizeof *chunk);
        if (chunk == NULL || !enough(&job->chunks, &job->room, job->count + 1, sizeof *job->chunks)) {
            free(chunk);
            job->stop = job->error = ENOMEM;
            break;
        }
        if (!take(job, &worker.text, chunk)) {
            free(chunk);
            break;
        }
        job->chunks[job->count++] = chunk;
        if (chunk->status == SOUND) {
            pthread_mutex_unlock(&job->lock);
            if (worker.text.at[worker.text.size - 1] != '\n') worker.text.at[worker.text.size++] = '\n';
            chunk->status = read_chunk(&worker, chunk);
            pthread_mutex_lock(&job->lock);
            if (chunk->status == SOUND) chunk->status = note_queries(job, chunk);
        }
        if (chunk->status != SOUND) job->stop = 1;
    }
    free(worker.text.at);
    free(worker.entries);
    free(worker.table);
    free(worker.places);
    free(worker.scores);
    free(worker.hits);
    if (own) {
        PyEval_RestoreThread(own);
        PyGILState_Release(state);
    }
    if (--job->running == 0) pthread_cond_signal(&job->ended);
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

/* Copy an id; 0 where UTF-8 has no form for it, so that no file holds it; -1 with an exception set. */
static int copied(Job *job, PyObject *id, Judged *into) {
    Py_ssize_t size;
    const char *text = PyUnicode_Check(id) ? PyUnicode_AsUTF8AndSize(id, &size) : NULL;
    if (text == NULL) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "ids are strings");
        if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    into->at = job->names.size;
    into->size = (size_t)size;
    into->hash = hashed((const Byte *)text, (size_t)size, job->seed);
    if (append(&job->names, text, (size_t)size)) return 1;
    PyErr_NoMemory();
    return -1;
}

/* Copy the ids of qrels, and put the grades into a list in the same order. */
static int copy_judged(Job *job, PyObject *qrels, PyObject *grades) {
    PyObject *query_id, *judged, *doc_id, *grade;
    Py_ssize_t place = 0, within;
    size_t queries_room = 0, documents_room = 0;
    int status;
    while (PyDict_Next(qrels, &place, &query_id, &judged)) {
        JudgedQuery *query;
        if (!PyDict_Check(judged)) {
            PyErr_SetString(PyExc_TypeError, "qrels are a dict of dicts");
            return 0;
        }
        if (!enough(&job->queries, &queries_room, job->num_queries + 1, sizeof *job->queries)) return PyErr_NoMemory(), 0;
        query = &job->queries[job->num_queries];
        query->first = (uint32_t)job->num_documents;
        if ((status = copied(job, query_id, &query->id)) < 0) return 0;
        if (!status) continue;
        job->num_queries++;
        within = 0;
        while (PyDict_Next(judged, &within, &doc_id, &grade)) {
            if (!enough(&job->documents, &documents_room, job->num_documents + 1, sizeof *job->documents))
                return PyErr_NoMemory(), 0;
            status = copied(job, doc_id, &job->documents[job->num_documents]);
            if (status < 0 || (status && PyList_Append(grades, grade) < 0)) return 0;
            job->num_documents += (size_t)status;
        }
        query->count = (uint32_t)(job->num_documents - query->first);
    }
    for (job->table_room = 64; job->table_room < 2 * job->num_queries;) job->table_room *= 2;
    if ((job->table = calloc(job->table_room, sizeof *job->table)) == NULL) return PyErr_NoMemory(), 0;
    for (size_t number = 0; number < job->num_queries; number++) {
        size_t slot = job->queries[number].id.hash & (job->table_room - 1);
        while (job->table[slot]) slot = (slot + 1) & (job->table_room - 1);
        job->table[slot] = (uint32_t)number + 1;
    }
    return 1;
}

static PyObject *hits_of(const Chunk *chunk, const Group *group, PyObject *grades) {
    PyObject *list = PyList_New((Py_ssize_t)group->num_hits);
    for (uint32_t place = 0; list && place < group->num_hits; place++) {
        Hit hit;
        PyObject *pair;
        memcpy(&hit, chunk->arena.at + group->hits + place * sizeof hit, sizeof hit);
        pair = Py_BuildValue("(kO)", (unsigned long)hit.rank, PyList_GetItem(grades, (Py_ssize_t)hit.judged));
        if (pair == NULL || PyList_SetItem(list, (Py_ssize_t)place, pair) < 0) Py_CLEAR(list);
    }
    return list;
}

/* Not by "y#": compiled with the headers of Python 3.13 and later, that format fails on 3.12 and before. */
static PyObject *bytes_of(const void *at, size_t size) {
    return at == NULL ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize(at, (Py_ssize_t)size);
}

static PyObject *group_as_tuple(const Chunk *chunk, const Group *group, PyObject *grades) {
    const char *arena = (const char *)chunk->arena.at;
    PyObject *hits = grades ? hits_of(chunk, group, grades)
                            : bytes_of(arena + group->hits, group->num_hits * sizeof(uint32_t)), *made;
    if (hits == NULL) return NULL;
    made = Py_BuildValue("(NkNNN)", PyUnicode_FromStringAndSize(arena + group->query, (Py_ssize_t)group->query_size),
                         (unsigned long)group->num_ret, bytes_of(arena + group->ids, group->ids_size),
                         bytes_of(arena + group->scores, group->num_scores * sizeof(double)), hits);
    return made;
}

static void free_chunk(Chunk *chunk) {
    free(chunk->arena.at);
    free(chunk->groups);
    free((void *)chunk->fault.at);
    free(chunk);
}

/* Return what was read, or what is wrong with the first chunk that is not sound. */
static PyObject *answer(Job *job, PyObject *grades) {
    PyObject *groups = PyList_New(0);
    uint64_t lines = 1, longer = 0;
    if (job->error == ENOMEM) PyErr_NoMemory();
    for (size_t place = 0; groups && !PyErr_Occurred() && place < job->count; place++) {
        Chunk *chunk = job->chunks[place];
        if (chunk->status != SOUND) {
            Py_DECREF(groups);
            if (chunk->status == NO_MEMORY) return PyErr_NoMemory();
            if (chunk->status == UNREADABLE && job->raised[0]) {
                PyErr_Restore(job->raised[0], job->raised[1], job->raised[2]);
                return memset(job->raised, 0, sizeof job->raised), NULL;
            }
            if (chunk->status == UNREADABLE) return errno = job->error, PyErr_SetFromErrno(PyExc_OSError);
            if (chunk->status == FAULT)
                return Py_BuildValue("(sKN)", "fault", (unsigned long long)(lines + chunk->line),
                                     bytes_of(chunk->fault.at, chunk->fault.size));
            if (chunk->status == AGAIN)
                return Py_BuildValue("(sKNK)", "again", (unsigned long long)(lines + chunk->line),
                                     bytes_of(chunk->fault.at, chunk->fault.size),
                                     (unsigned long long)(lines + chunk->first));
            return Py_BuildValue("(s)", chunk->status == MIXED ? "mixed" : "large");
        }
        lines += chunk->lines;
        longer += chunk->longer;
        for (size_t number = 0; number < chunk->count; number++) {
            PyObject *group = group_as_tuple(chunk, &chunk->groups[number], job->judged ? NULL : grades);
            if (group == NULL || PyList_Append(groups, group) < 0) {
                Py_XDECREF(group);
                break;
            }
            Py_DECREF(group);
        }
        job->chunks[place] = NULL;
        free_chunk(chunk);
    }
    if (PyErr_Occurred() || groups == NULL) {
        Py_XDECREF(groups);
        return NULL;
    }
    return Py_BuildValue("(sKN)", "sound", (unsigned long long)longer, groups);
}

/* Let threads work, and look now and then whether the user wants to stop. */
static int run_threads(Job *job, int number) {
    pthread_t threads[64];
    int started = 0, wanted = number < 1 ? 1 : number > 64 ? 64 : number, interrupted = 0, ended = 0;
    pthread_mutex_lock(&job->lock); /* nobody has it yet: later it may be had by one who waits for a thread of Python */
    while (started < wanted && pthread_create(&threads[started], NULL, work, job) == 0) started++;
    job->running = started;
    pthread_mutex_unlock(&job->lock);
    if (!started) {
        PyErr_SetString(PyExc_RuntimeError, "can't start new thread");
        return 0;
    }
    while (!ended) {
        Py_BEGIN_ALLOW_THREADS
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&job->lock);
        if (job->running) pthread_cond_timedwait(&job->ended, &job->lock, &until);
        ended = job->running == 0;
        if (interrupted) job->stop = 1;
        pthread_mutex_unlock(&job->lock);
        Py_END_ALLOW_THREADS
        if (!interrupted && PyErr_CheckSignals() < 0) interrupted = 1;
    }
    for (int number_of = 0; number_of < started; number_of++) pthread_join(threads[number_of], NULL);
    return !interrupted;
}

const char read_trec_doc[] =
    "read_trec(source, depth, qrels, order, mode, threads)\n--\n\n"
    "Read a run, from a descriptor or a function that gives at most so many bytes, none at the end: ('sound', longer lines, "
    "[(query, number, ids, scores, hits), ...]), or what is wrong.";

PyObject *read_trec(PyObject *module, PyObject *arguments) {
    Job job = {.stop = 0};
    PyObject *source, *qrels, *grades = NULL, *found = NULL;
    const char *order, *mode;
    Py_ssize_t depth;
    int threads;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnO!ssi", &source, &depth, &PyDict_Type, &qrels, &order, &mode, &threads))
        return NULL;
    if (PyCallable_Check(source)) job.unpack = source;
    else if ((job.descriptor = (int)PyLong_AsLong(source)) == -1 && PyErr_Occurred()) return NULL;
    job.depth = depth < 0 ? 0 : (size_t)depth;
    job.in_doubles = strcmp(order, "float64") == 0;
    job.whole = strcmp(mode, "whole") == 0;
    job.cut = strcmp(mode, "cut") == 0;
    job.judged = strcmp(mode, "judged") == 0;
    job.seed = (uint64_t)(uintptr_t)&job * 0x9E3779B97F4A7C15u ^ (uint64_t)time(NULL);
    job.numbers = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (job.numbers == (locale_t)0) return PyErr_NoMemory();
    pthread_mutex_init(&job.lock, NULL);
    pthread_cond_init(&job.ended, NULL);
    if ((grades = PyList_New(0)) != NULL && copy_judged(&job, qrels, grades) && run_threads(&job, threads))
        found = answer(&job, grades);
    for (size_t place = 0; place < job.count; place++)
        if (job.chunks[place]) free_chunk(job.chunks[place]);
    Py_XDECREF(grades);
    for (int place = 0; place < 3; place++) Py_XDECREF(job.raised[place]);
    free(job.chunks);
    free(job.rest.at);
    free(job.seen);
    free(job.names.at);
    free(job.queries);
    free(job.documents);
    free(job.table);
    freelocale(job.numbers);
    pthread_cond_destroy(&job.ended);
    pthread_mutex_destroy(&job.lock);
    return found;
}
#endif
