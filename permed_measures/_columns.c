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

static PyObject *empty; /* the id that nothing may have */

/* Whether all keys are exact strings and none is empty; -1 with an exception set. */
static int has_plain_ids(PyObject *dict) {
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(dict, &place, &key, &value))
        if (!PyUnicode_CheckExact(key)) return 0;
    int found = PyDict_Contains(dict, empty);
    return found < 0 ? -1 : !found;
}

/* Whether every value is an exact int that a double holds. */
static int has_whole_grades(PyObject *dict) {
    PyObject *key, *value, *last = NULL;
    Py_ssize_t place = 0;
    while (PyDict_Next(dict, &place, &key, &value)) {
        int overflow;
        long long grade;
        if (value == last) continue;
        last = value;
        if (!PyLong_CheckExact(value)) return 0;
        grade = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow || grade > (long long)LARGEST_WHOLE || grade < -(long long)LARGEST_WHOLE) return 0;
    }
    return 1;
}

PyDoc_STRVAR(plain_qrels_doc, "plain_qrels(qrels)\n--\n\n"
             "Whether these are dicts of dicts with ids that are strings and grades that are ints, as they are.");

static PyObject *plain_qrels(PyObject *module, PyObject *qrels) {
    PyObject *query_id, *grades;
    Py_ssize_t place = 0;
    int plain;
    (void)module;
    if (!PyDict_CheckExact(qrels)) Py_RETURN_FALSE;
    if ((plain = has_plain_ids(qrels)) <= 0) return plain < 0 ? NULL : PyBool_FromLong(0);
    while (PyDict_Next(qrels, &place, &query_id, &grades)) {
        if (!PyDict_CheckExact(grades)) Py_RETURN_FALSE;
        if ((plain = has_plain_ids(grades)) < 0) return NULL;
        if (!plain || !has_whole_grades(grades)) Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}

#ifndef _WIN32 /* _trec.c needs POSIX */
PyObject *read_trec(PyObject *module, PyObject *arguments);
extern const char read_trec_doc[];
#endif

static PyMethodDef functions[] = {
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
