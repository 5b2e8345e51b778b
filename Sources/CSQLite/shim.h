#pragma once
#include <sqlite3.h>

/* Swift cannot call the variadic sqlite3_config and sqlite3_db_config. */
static inline int shim_sqlite3_config_int(int option, int value) { return sqlite3_config(option, value); }
static inline int shim_sqlite3_db_config_flag(sqlite3 *_Nonnull db, int option, int value) {
    return sqlite3_db_config(db, option, value, (int *)0);
}
