"""Keep runs in the tables of a database: all of a run store but the connection, which a plugin gives."""
