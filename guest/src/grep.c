#include "files.h"
void serve_grep(struct operation *op) { fail(op, "unsupported", 0, "grep is not built yet"); }
