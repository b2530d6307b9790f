/* The fast way to what permed_measures/ranking.py defines, on the limited API of Python 3.10.

   Every function here returns None where it has a doubt (a type, a number, an id that it does not know): then the plain
   definition decides, and words the error. No function calls Python code of the caller: only exact dicts, lists and strings are
   looked into. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_WHOLE 9007199254740992.0 /* 2^53: above it a double skips whole numbers */

static PyObject *empty; /* the id that nothing may have: CPython has but one exact string without characters */

static inline int is_id(PyObject *id) { return PyUnicode_CheckExact(id) && id != empty; }

/* Whether all keys are ids, and with dicts all values dicts. */
static int has_plain_ids(PyObject *dict, int dicts) {
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(dict, &place, &key, &value))
        if (!is_id(key) || (dicts && !PyDict_CheckExact(value))) return 0;
    return 1;
}

/* ---- columns: what is known of all queries, as arrays ---- */

typedef struct {
    char *start;
    size_t used, room;
    PyObject *bytes; /* what holds a buffer that is part of the answer: of the right size from the start */
} Buffer;

static inline int reserve(Buffer *buffer, size_t size) {
    size_t room = buffer->room ? buffer->room : 4096;
    char *start;
    if (buffer->used + size <= buffer->room) return 1;
    while (room < buffer->used + size) room *= 2;
    if (buffer->bytes != NULL || (start = realloc(buffer->start, room)) == NULL) return 0;
    buffer->start = start;
    buffer->room = room;
    return 1;
}

static int make_bytes(Buffer *buffer, size_t size) {
    if ((buffer->bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size)) == NULL) return 0;
    buffer->start = PyBytes_AsString(buffer->bytes);
    buffer->room = size;
    return 1;
}

/* Add a number where there is room for it. */
static inline void put(Buffer *buffer, double number) {
    memcpy(buffer->start + buffer->used, &number, sizeof number);
    buffer->used += sizeof number;
}

static inline int add(Buffer *buffer, const void *value, size_t size) {
    if (!reserve(buffer, size)) return 0;
    memcpy(buffer->start + buffer->used, value, size);
    buffer->used += size;
    return 1;
}

typedef struct {
    double rank, grade;
    PyObject *tied; /* the document's id, where others have its score */
    uint32_t key;
} Hit;

typedef struct {
    uint32_t key;
    PyObject *id;
} Entry;

/* Some documents of a dict: what they point to is on its way from memory while the first of them are looked at. */
#define SOME 32
#if defined(__GNUC__)
#define SOON(pointer) __builtin_prefetch(pointer)
#else
#define SOON(pointer) ((void)(pointer))
#endif

typedef struct {
    PyObject *id, *value;
} Document;

static size_t next_documents(PyObject *dict, Py_ssize_t *place, Document *documents) {
    size_t number = 0;
    while (number < SOME && PyDict_Next(dict, place, &documents[number].id, &documents[number].value)) {
        SOON(documents[number].id);
        SOON(documents[number++].value);
    }
    return number;
}

#define SMALL 64
#define SEEN 64

/* Most grades are among the few objects seen last. The set holds all of them, where these are to be exact ints. */
typedef struct {
    PyObject *distinct, *seen[SEEN];
    double numbers[SEEN];
} Grades;

typedef struct {
    Buffer num_ret, num_hits, num_judged, ranks, grades, places; /* the answer: of each query, and of each judged document */
    Buffer keys, spare, entries, doubles, hits, missed;          /* of one query */
    Buffer queries;                                              /* the two dicts of each */
    PyObject *top[SMALL];                                        /* the ids of the first documents, where few are needed */
    Grades known;
    int64_t returned_in_top, judged_in_top, tied, tied_exactly, depth, cutoff;
    int exact; /* scores are compared as 64-bit floats */
} Columns;

enum { FAILED = -1, DOUBT = 0, DONE = 1 };

/* Keys ascend as scores, compared as 32-bit floats, descend. */
static uint32_t key_of(double score) {
    float single = (float)score + 0.0f; /* -0.0 and 0.0 are one score */
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits & 0x80000000u ? bits : ~(bits | 0x80000000u);
}

static int read_score(PyObject *value, double *score) {
    if (PyFloat_Check(value)) {
        *score = PyFloat_AsDouble(value);
    } else if (PyLong_Check(value)) {
        *score = PyLong_AsDouble(value);
        if (*score == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return DOUBT;
        }
    } else {
        return DOUBT;
    }
    return *score == *score ? DONE : DOUBT;
}

static int read_grade(PyObject *value, double *grade) {
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow || whole > (long long)LARGEST_WHOLE || whole < -(long long)LARGEST_WHOLE) return DOUBT;
        *grade = (double)whole;
        return DONE;
    }
    if (!PyFloat_Check(value)) return DOUBT;
    *grade = PyFloat_AsDouble(value);
    return *grade - *grade == 0.0 ? DONE : DOUBT; /* finite */
}

static inline int grade_of(Grades *known, PyObject *value, double *grade) {
    size_t slot = (uintptr_t)value / 32 % SEEN;
    if (known->seen[slot] != value) {
        if (!read_grade(value, &known->numbers[slot])) return DOUBT;
        if (known->distinct != NULL && !PyLong_CheckExact(value)) return DOUBT;
        if (known->distinct != NULL && PySet_Add(known->distinct, value) < 0) return FAILED;
        known->seen[slot] = value;
    }
    *grade = known->numbers[slot];
    return DONE;
}

static void sort_keys(uint32_t *keys, uint32_t *spare, size_t number) {
    for (int shift = 0; shift < 32; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < number; i++) starts[(keys[i] >> shift & 255) + 1]++;
        for (int byte = 0; byte < 256; byte++) starts[byte + 1] += starts[byte];
        for (size_t i = 0; i < number; i++) spare[starts[keys[i] >> shift & 255]++] = keys[i];
        uint32_t *other = keys;
        keys = spare;
        spare = other;
    }
}

static size_t first_not_below(const uint32_t *keys, size_t number, uint32_t key) {
    size_t low = 0;
    if (number <= 32) { /* counting is faster than halving */
        for (size_t i = 0; i < number; i++) low += keys[i] < key;
        return low;
    }
    while (number > 1) { /* no branch that could be guessed wrong */
        size_t half = number / 2;
        low += keys[low + half - 1] < key ? half : 0;
        number -= half;
    }
    return low + (keys[low] < key);
}

static int compare_entries(const void *one, const void *other) {
    const Entry *a = one, *b = other;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return PyUnicode_Compare(b->id, a->id); /* by code points, descending, as trec_eval's strcmp of UTF-8 */
}

static int descending(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a < b) - (a > b);
}

/* How many of the first documents are needed: one more than the measures look at, which may be tied with the last of them. */
static size_t needed(const Columns *columns, size_t number) {
    int64_t most = columns->depth > columns->cutoff ? columns->depth : columns->cutoff;
    if (columns->exact || columns->depth < 0 || columns->cutoff < 0 || most >= (int64_t)number) return number;
    return most < SMALL ? (size_t)most + 1 : number;
}

/* Fill the keys of the first documents, in order; ties says whether two are equal. */
static int read_scores(Columns *columns, PyObject *scores, size_t number, size_t first, int *ties) {
    Document documents[SOME];
    Py_ssize_t place = 0;
    size_t filled = 0, seen = 0, some;
    int in_order = 1, few = first <= SMALL;
    uint32_t *keys;
    columns->keys.used = columns->spare.used = 0;
    if (!reserve(&columns->keys, first * sizeof *keys + 1)) return FAILED;
    keys = (uint32_t *)columns->keys.start;
    *ties = 0;
    while ((some = next_documents(scores, &place, documents))) {
        if ((seen += some) > number) return DOUBT;
        for (size_t i = 0; i < some; i++) {
            double score;
            if (!is_id(documents[i].id) || !read_score(documents[i].value, &score)) return DOUBT;
            uint32_t key = key_of(score);
            size_t j = filled;
            if (!few) {
                if (filled && keys[filled - 1] >= key) in_order = 0;
            } else {
                if (filled == first && keys[--j] <= key) continue;
                for (; j > 0 && keys[j - 1] > key; j--) keys[j] = keys[j - 1], columns->top[j] = columns->top[j - 1];
                columns->top[j] = documents[i].id;
            }
            keys[j] = key;
            filled += filled < first;
        }
    }
    if (seen != number) return DOUBT;
    if (!few) {
        if (in_order) return DONE;
        if (!reserve(&columns->spare, number * sizeof *keys)) return FAILED;
        sort_keys(keys, (uint32_t *)columns->spare.start, number);
    }
    for (size_t i = 1; i < first && !*ties; i++) *ties = keys[i - 1] == keys[i];
    return DONE;
}

/* Documents ordered by key and id: needed where a judged one is tied. */
static int sort_entries(Columns *columns, PyObject *scores, size_t number) {
    PyObject *id, *value;
    Py_ssize_t place = 0;
    Entry *entries;
    size_t filled = 0;
    columns->entries.used = 0;
    if (!reserve(&columns->entries, number * sizeof *entries)) return FAILED;
    entries = (Entry *)columns->entries.start;
    while (PyDict_Next(scores, &place, &id, &value)) {
        double score = 0.0;
        read_score(value, &score);
        entries[filled].key = key_of(score);
        entries[filled++].id = id;
    }
    qsort(entries, number, sizeof *entries, compare_entries);
    return PyErr_Occurred() ? FAILED : DONE;
}

static double place_among(const Entry *entries, size_t number, Entry wanted) {
    size_t low = 0, high = number;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_entries(&entries[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return (double)(low + 1);
}

/* Count the documents of the top that share their score with another one, in 32 and in 64 bits. */
static int count_ties(Columns *columns, PyObject *scores, size_t number, size_t first) {
    PyObject *id, *value;
    Py_ssize_t place = 0;
    const uint32_t *keys = (const uint32_t *)columns->keys.start;
    size_t depth = columns->cutoff < 0 || (size_t)columns->cutoff > number ? number : (size_t)columns->cutoff;
    double *doubles;
    size_t filled = 0, single = 0;
    for (size_t i = 0; i < depth; i++)
        single += (i && keys[i] == keys[i - 1]) || (i + 1 < first && keys[i] == keys[i + 1]);
    if (!single) return DONE;
    columns->doubles.used = 0;
    if (!reserve(&columns->doubles, number * sizeof *doubles)) return FAILED;
    doubles = (double *)columns->doubles.start;
    while (PyDict_Next(scores, &place, &id, &value)) read_score(value, &doubles[filled++]);
    qsort(doubles, number, sizeof *doubles, descending);
    for (size_t i = 0; i < depth; i++)
        columns->tied_exactly +=
            (i && doubles[i] == doubles[i - 1]) || (i + 1 < number && doubles[i] == doubles[i + 1]);
    columns->tied += (int64_t)single;
    return DONE;
}

/* Put the hits in the order of their ranks: where they are many, each goes to its own place in a list of them all. */
static int sort_hits(Columns *columns, Hit *hits, size_t found, size_t number) {
    if (found > 16) {
        columns->spare.used = columns->doubles.used = 0;
        if (!reserve(&columns->spare, number * sizeof(uint32_t)) || !reserve(&columns->doubles, found * sizeof *hits))
            return FAILED;
        uint32_t *places = (uint32_t *)columns->spare.start;
        Hit *unordered = (Hit *)columns->doubles.start;
        memset(places, 0, number * sizeof *places);
        memcpy(unordered, hits, found * sizeof *hits);
        for (size_t i = 0; i < found; i++) places[(size_t)hits[i].rank - 1] = (uint32_t)(i + 1);
        for (size_t i = 0, next = 0; i < number && next < found; i++)
            if (places[i]) hits[next++] = unordered[places[i] - 1];
        return DONE;
    }
    for (size_t i = 1; i < found; i++) {
        Hit hit = hits[i];
        size_t j = i;
        for (; j > 0 && hits[j - 1].rank > hit.rank; j--) hits[j] = hits[j - 1];
        hits[j] = hit;
    }
    return DONE;
}

/* Rank the judged documents that are tied, and add the row of each that was returned, in the order of the ranks. */
static int add_hits(Columns *columns, PyObject *scores, size_t number) {
    Hit *hits = (Hit *)columns->hits.start;
    size_t found = columns->hits.used / sizeof *hits;
    int64_t kept = 0;
    int entries = 0;
    for (size_t i = 0; i < found; i++) {
        if (hits[i].tied == NULL) continue;
        if (!entries && sort_entries(columns, scores, number) != DONE) return FAILED;
        entries = 1;
        Entry wanted = {hits[i].key, hits[i].tied};
        hits[i].rank = place_among((const Entry *)columns->entries.start, number, wanted);
    }
    if (sort_hits(columns, hits, found, number) != DONE) return FAILED;
    for (size_t i = 0; i < found; i++) {
        if (columns->depth >= 0 && hits[i].rank > (double)columns->depth) {
            put(&columns->missed, hits[i].grade);
            continue;
        }
        kept++;
        columns->judged_in_top += columns->cutoff < 0 || hits[i].rank <= (double)columns->cutoff;
        put(&columns->ranks, hits[i].rank);
        put(&columns->grades, hits[i].grade);
    }
    return add(&columns->num_hits, &kept, sizeof kept) ? DONE : FAILED;
}

typedef struct {
    double grade;
    size_t row;
} Graded;

static int by_grade(const void *one, const void *other) {
    double a = ((const Graded *)one)->grade, b = ((const Graded *)other)->grade;
    return (a < b) - (a > b);
}

/* Add the place of each row in descending order of grades: by counting, where grades or rows are few. */
static int add_places(Columns *columns, const double *grades, size_t number) {
    double *places, highest = 0.0;
    int few = 1;
    if (!reserve(&columns->places, number * sizeof *places)) return FAILED;
    places = (double *)(columns->places.start + columns->places.used);
    columns->places.used += number * sizeof *places;
    for (size_t i = 0; few && i < number; i++) {
        few = grades[i] >= 0 && grades[i] <= 255 && grades[i] == (double)(int)grades[i];
        if (grades[i] > highest) highest = grades[i];
    }
    if (few) {
        size_t starts[257], last = (size_t)highest;
        memset(starts, 0, (last + 2) * sizeof *starts);
        for (size_t i = 0; i < number; i++) starts[last + 1 - (size_t)grades[i]]++;
        for (size_t i = 1; i <= last; i++) starts[i] += starts[i - 1];
        for (size_t i = 0; i < number; i++) places[i] = (double)++starts[last - (size_t)grades[i]];
        return DONE;
    }
    if (number <= 24) {
        for (size_t i = 0; i < number; i++) {
            int before = 1;
            for (size_t j = 0; j < i; j++) before += grades[j] >= grades[i];
            for (size_t j = i + 1; j < number; j++) before += grades[j] > grades[i];
            places[i] = before;
        }
        return DONE;
    }
    columns->spare.used = 0;
    if (!reserve(&columns->spare, number * sizeof(Graded))) return FAILED;
    Graded *graded = (Graded *)columns->spare.start;
    for (size_t i = 0; i < number; i++) graded[i].grade = grades[i], graded[i].row = i;
    qsort(graded, number, sizeof *graded, by_grade);
    for (size_t i = 0; i < number; i++) places[graded[i].row] = (double)(i + 1);
    return DONE;
}

/* Find the judged documents in the list: those that were returned become hits, the others are missed. */
static int read_judged(Columns *columns, PyObject *grades, PyObject *scores, size_t first, int ties) {
    Document documents[SOME];
    Py_ssize_t place = 0;
    size_t some;
    int done;
    const uint32_t *keys = (const uint32_t *)columns->keys.start;
    while ((some = next_documents(grades, &place, documents)))
        for (size_t i = 0; i < some; i++) {
            Hit hit = {0.0, 0.0, NULL, 0};
            PyObject *id = documents[i].id, *found = NULL;
            size_t before = 0;
            if (!is_id(id)) return DOUBT;
            if ((done = grade_of(&columns->known, documents[i].value, &hit.grade)) != DONE) return done;
            if (first && (found = PyDict_GetItemWithError(scores, id)) == NULL && PyErr_Occurred()) return FAILED;
            if (found != NULL) {
                double score;
                if (!read_score(found, &score)) return DOUBT;
                hit.key = key_of(score);
                before = first_not_below(keys, first, hit.key);
            }
            if (found == NULL || before == first || (columns->depth >= 0 && before >= (size_t)columns->depth)) {
                put(&columns->missed, hit.grade);
                continue;
            }
            hit.rank = (double)(before + 1);
            if (ties && before + 1 < first && keys[before + 1] == hit.key) hit.tied = id;
            if (!add(&columns->hits, &hit, sizeof hit)) return FAILED;
        }
    return DONE;
}

/* The same by a look at each of the first documents, where these are few and not tied: all others are missed. */
static int read_top(Columns *columns, PyObject *grades, size_t first) {
    Document documents[SOME];
    Py_ssize_t place = 0;
    size_t some, missed = 0, depth = columns->depth >= 0 && (size_t)columns->depth < first ? (size_t)columns->depth : first;
    int done;
    while ((some = next_documents(grades, &place, documents)))
        for (size_t i = 0; i < some; i++) {
            double grade;
            if (!is_id(documents[i].id)) return DOUBT;
            if ((done = grade_of(&columns->known, documents[i].value, &grade)) != DONE) return done;
            put(&columns->missed, grade);
        }
    double *left = (double *)columns->missed.start;
    size_t number = columns->missed.used / sizeof *left;
    for (size_t i = 0; i < depth; i++) {
        Hit hit = {(double)(i + 1), 0.0, NULL, 0};
        PyObject *found = PyDict_GetItemWithError(grades, columns->top[i]);
        if (found == NULL && PyErr_Occurred()) return FAILED;
        if (found == NULL) continue;
        size_t j = 0;
        if ((done = grade_of(&columns->known, found, &hit.grade)) != DONE) return done;
        while (j < number && left[j] != hit.grade) j++;
        if (j == number) return DOUBT;
        left[j] = NAN; /* taken */
        if (!add(&columns->hits, &hit, sizeof hit)) return FAILED;
    }
    for (size_t j = 0; j < number; j++)
        if (left[j] == left[j]) left[missed++] = left[j];
    columns->missed.used = missed * sizeof *left;
    return DONE;
}

static int add_judged(Columns *columns, PyObject *grades, PyObject *scores, size_t number, size_t first, int ties) {
    size_t start = columns->grades.used;
    int64_t judged = grades == NULL ? 0 : (int64_t)PyDict_Size(grades);
    size_t size = (size_t)judged * sizeof(double);
    int done;
    columns->hits.used = columns->missed.used = 0;
    if (!reserve(&columns->missed, size) || !reserve(&columns->ranks, size) || !reserve(&columns->grades, size)) return FAILED;
    if (judged) {
        if (first && first <= SMALL && !ties && (int64_t)first <= judged)
            done = read_top(columns, grades, first);
        else
            done = read_judged(columns, grades, scores, first, ties);
        if (done != DONE) return done;
    }
    if ((done = add_hits(columns, scores, number)) != DONE) return done;
    for (size_t i = 0; i < columns->missed.used / sizeof(double); i++) put(&columns->ranks, INFINITY);
    if (columns->missed.used && !add(&columns->grades, columns->missed.start, columns->missed.used)) return FAILED;
    if (!add(&columns->num_judged, &judged, sizeof judged)) return FAILED;
    return judged ? add_places(columns, (const double *)(columns->grades.start + start), (size_t)judged) : DONE;
}

static int add_query(Columns *columns, PyObject *grades, PyObject *scores) {
    int64_t number = scores == NULL ? 0 : (int64_t)PyDict_Size(scores);
    size_t first = 0;
    int ties = 0, done;
    if (number) {
        first = needed(columns, (size_t)number);
        if ((done = read_scores(columns, scores, (size_t)number, first, &ties)) != DONE) return done;
        if (ties && columns->exact) return DOUBT;
        if (ties && (done = count_ties(columns, scores, (size_t)number, first)) != DONE) return done;
    }
    columns->returned_in_top += columns->cutoff < 0 || number < columns->cutoff ? number : columns->cutoff;
    if ((done = add_judged(columns, grades, scores, (size_t)number, first, ties)) != DONE) return done;
    return add(&columns->num_ret, &number, sizeof number) ? DONE : FAILED;
}

/* Find the two dicts of every query, of all that are judged where no list tells which, and make room for the answer. */
static int find_queries(Columns *columns, PyObject *qrels, PyObject *run, PyObject *query_ids, size_t number) {
    size_t rows = 0;
    Py_ssize_t place = 0;
    PyObject **dicts;
    if (!reserve(&columns->queries, 2 * number * sizeof *dicts)) return FAILED;
    dicts = (PyObject **)columns->queries.start;
    for (size_t i = 0; i < number; i++) {
        PyObject *query_id;
        if (query_ids == Py_None) {
            if (!PyDict_Next(qrels, &place, &query_id, &dicts[2 * i])) return DOUBT;
        } else {
            query_id = PyList_GetItem(query_ids, (Py_ssize_t)i);
            if (!is_id(query_id)) return DOUBT;
            if ((dicts[2 * i] = PyDict_GetItemWithError(qrels, query_id)) == NULL && PyErr_Occurred()) return FAILED;
        }
        if ((dicts[2 * i + 1] = PyDict_GetItemWithError(run, query_id)) == NULL && PyErr_Occurred()) return FAILED;
        SOON(dicts[2 * i]);
        SOON(dicts[2 * i + 1]);
    }
    for (size_t i = 0; i < 2 * number; i++) {
        if (dicts[i] != NULL && !PyDict_CheckExact(dicts[i])) return DOUBT;
        if (dicts[i] != NULL && i % 2 == 0) rows += (size_t)PyDict_Size(dicts[i]);
    }
    Buffer *of_queries[] = {&columns->num_ret, &columns->num_hits, &columns->num_judged};
    Buffer *of_rows[] = {&columns->ranks, &columns->grades, &columns->places};
    for (size_t i = 0; i < 3; i++)
        if (!make_bytes(of_queries[i], number * sizeof(int64_t)) || !make_bytes(of_rows[i], rows * sizeof(double)))
            return FAILED;
    return DONE;
}

static PyObject *as_bytes(Buffer *buffer) {
    PyObject *bytes = buffer->bytes;
    buffer->bytes = NULL;
    buffer->start = NULL;
    return bytes;
}

static void release(Columns *columns) {
    Py_XDECREF(columns->known.distinct);
    Buffer *all[] = {&columns->num_ret, &columns->num_hits, &columns->num_judged, &columns->ranks,
                     &columns->grades,  &columns->places,   &columns->keys,       &columns->spare,
                     &columns->entries, &columns->doubles,  &columns->hits,       &columns->missed,
                     &columns->queries};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->bytes == NULL)
            free(all[i]->start);
        else
            Py_DECREF(all[i]->bytes);
    }
}

PyDoc_STRVAR(columns_doc, "columns(qrels, run, query_ids, depth, cutoff, exact)\n--\n\n"
             "Return bytes: num_ret, num_hits, num_judged (a 64-bit integer for each query), ranks, grades, places (a double for\n"
             "each judged document: those that were returned by rank, then the others, whose rank is infinite), and four ints:\n"
             "the documents returned, judged, tied in 32 bits and tied in 64 bits in the top (cutoff). None in doubt. Documents\n"
             "below the depth count as not returned; -1 is no depth, and no cutoff. Where query_ids is None, the queries are\n"
             "those of the qrels, which nobody has checked: the last item is then the set of plain_qrels(qrels), else None.");

static PyObject *columns_of(PyObject *module, PyObject *arguments) {
    PyObject *qrels, *run, *query_ids, *answer = NULL;
    long long depth, cutoff;
    Columns columns;
    int done = DONE, unchecked;
    (void)module;
    memset(&columns, 0, sizeof columns);
    if (!PyArg_ParseTuple(arguments, "OOOLLp", &qrels, &run, &query_ids, &depth, &cutoff, &columns.exact)) return NULL;
    unchecked = query_ids == Py_None;
    if (!(unchecked ? PyDict_CheckExact(qrels) : PyDict_Check(qrels) && PyList_CheckExact(query_ids))) Py_RETURN_NONE;
    if (!PyDict_CheckExact(run)) Py_RETURN_NONE;
    if (unchecked && (columns.known.distinct = PySet_New(NULL)) == NULL) return NULL;
    columns.depth = depth;
    columns.cutoff = cutoff;
    if ((done = has_plain_ids(qrels, unchecked)) == DONE) done = has_plain_ids(run, unchecked);
    size_t number = (size_t)(unchecked ? PyDict_Size(qrels) : PyList_Size(query_ids));
    if (done == DONE) done = find_queries(&columns, qrels, run, query_ids, number);
    PyObject **dicts = (PyObject **)columns.queries.start;
    for (size_t i = 0; done == DONE && i < number; i++) done = add_query(&columns, dicts[2 * i], dicts[2 * i + 1]);
    if (done == DONE)
        answer = Py_BuildValue("NNNNNNLLLLO", as_bytes(&columns.num_ret), as_bytes(&columns.num_hits),
                               as_bytes(&columns.num_judged), as_bytes(&columns.ranks), as_bytes(&columns.grades),
                               as_bytes(&columns.places), (long long)columns.returned_in_top,
                               (long long)columns.judged_in_top, (long long)columns.tied,
                               (long long)columns.tied_exactly, unchecked ? columns.known.distinct : Py_None);
    else if (done == DOUBT)
        answer = Py_NewRef(Py_None);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    release(&columns);
    return answer;
}

/* Read the grades of a query, if its ids are plain. */
static int add_grades(PyObject *dict, Grades *known) {
    Document documents[SOME];
    Py_ssize_t place = 0;
    size_t some;
    double grade;
    int done;
    while ((some = next_documents(dict, &place, documents)))
        for (size_t i = 0; i < some; i++) {
            if (!is_id(documents[i].id)) return DOUBT;
            if ((done = grade_of(known, documents[i].value, &grade)) != DONE) return done;
        }
    return DONE;
}

PyDoc_STRVAR(plain_qrels_doc, "plain_qrels(qrels)\n--\n\n"
             "Return the set of grades, where these are dicts of dicts with ids that are strings and grades that are ints.");

static PyObject *plain_qrels(PyObject *module, PyObject *qrels) {
    PyObject *query_id, *judged;
    Grades known;
    Py_ssize_t place = 0;
    int done;
    (void)module;
    memset(&known, 0, sizeof known);
    if (!PyDict_CheckExact(qrels)) Py_RETURN_NONE;
    if ((known.distinct = PySet_New(NULL)) == NULL) return NULL;
    done = has_plain_ids(qrels, 1);
    while (done == DONE && PyDict_Next(qrels, &place, &query_id, &judged)) done = add_grades(judged, &known);
    if (done == DONE) return known.distinct;
    Py_DECREF(known.distinct);
    return done == DOUBT ? Py_NewRef(Py_None) : NULL;
}

/* Whether C can hold an id: UTF-8 without NUL, and not empty. */
static int is_text(PyObject *id) {
    Py_ssize_t size;
    const char *text;
    if (!PyUnicode_CheckExact(id)) return 0;
    if ((text = PyUnicode_AsUTF8AndSize(id, &size)) == NULL) {
        PyErr_Clear();
        return 0;
    }
    return size > 0 && memchr(text, 0, (size_t)size) == NULL;
}

static int can_be_handed(PyObject *dict, long long highest) {
    PyObject *id, *value;
    Py_ssize_t place = 0;
    int some = highest < 0;
    if (!PyDict_CheckExact(dict) || !PyDict_Size(dict)) return 0;
    while (PyDict_Next(dict, &place, &id, &value)) {
        double number;
        if (!is_text(id)) return 0;
        if (highest < 0) {
            if (!PyFloat_CheckExact(value) || !read_score(value, &number)) return 0;
        } else {
            if (!PyLong_CheckExact(value) || !read_grade(value, &number) || fabs(number) > (double)highest) return 0;
            some |= number >= 0;
        }
    }
    return some;
}

PyDoc_STRVAR(handed_doc, "handed(dicts, highest)\n--\n\n"
             "Whether pytrec_eval may see these dicts as they are: every id is text without NUL, no dict is empty; with a highest\n"
             "grade, all values are ints up to it, one in each dict at least 0; with -1, floats without NaN.");

static PyObject *handed(PyObject *module, PyObject *arguments) {
    PyObject *dicts, *id, *dict;
    Py_ssize_t place = 0;
    long long highest;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OL", &dicts, &highest)) return NULL;
    if (!PyDict_Check(dicts)) Py_RETURN_FALSE;
    while (PyDict_Next(dicts, &place, &id, &dict))
        if (!is_text(id) || !can_be_handed(dict, highest)) Py_RETURN_FALSE;
    Py_RETURN_TRUE;
}

PyObject *arrow_stream(PyObject *module, PyObject *table); /* _lists.c */
PyObject *best_lists(PyObject *module, PyObject *arguments);
extern const char arrow_stream_doc[], best_lists_doc[];

#ifndef _WIN32 /* _trec.c needs POSIX */
PyObject *read_trec(PyObject *module, PyObject *arguments);
extern const char read_trec_doc[];
#endif

static PyMethodDef functions[] = {
    {"arrow_stream", arrow_stream, METH_O, arrow_stream_doc},
    {"best_lists", best_lists, METH_VARARGS, best_lists_doc},
    {"columns", columns_of, METH_VARARGS, columns_doc},
    {"handed", handed, METH_VARARGS, handed_doc},
    {"plain_qrels", plain_qrels, METH_O, plain_qrels_doc},
#ifndef _WIN32
    {"read_trec", read_trec, METH_VARARGS, read_trec_doc},
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_columns", "The fast way to columns; see permed_measures/ranking.py.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__columns(void) {
    empty = PyUnicode_InternFromString("");
    return empty == NULL ? NULL : PyModule_Create(&definition);
}
