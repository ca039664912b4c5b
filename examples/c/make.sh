#!/bin/sh
# Compiles the program, and makes 40,000 rows to train on and 5,000 to validate.
set -e
cc -O2 -o fit fit.c -lm
rows() {
    awk -v n="$1" -v seed="$2" 'BEGIN {
        srand(seed); print "x,y"
        for (i = 0; i < n; i++) {
            x = 2 * rand() - 1
            printf "%.6f,%.6f\n", x, sin(5 * x) + x * x + 0.3 * (rand() + rand() - 1)
        }
    }'
}
rows 40000 1 > train.csv
rows 5000 2 > dev.csv
