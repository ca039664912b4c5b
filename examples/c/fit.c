/* Fits a polynomial to rows "x,y" by least squares; prints its root mean squared error on other rows as JSON.
   usage: fit DEGREE TRAINING-ROWS VALIDATION-ROWS MODEL */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 16

static FILE *rows(const char *path) {
    char header[256];
    FILE *file = fopen(path, "r");
    if (!file || !fgets(header, sizeof header, file)) {
        perror(path);
        exit(1);
    }
    return file;
}

static double value(const double *w, int terms, double x) {
    double sum = 0;
    for (int i = terms - 1; i >= 0; i--)
        sum = sum * x + w[i];
    return sum;
}

/* Solves the normal equations by Gaussian elimination with pivots. */
static void solve(double a[MOST][MOST + 1], int n, double *w) {
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int j = i + 1; j < n; j++)
            if (fabs(a[j][i]) > fabs(a[pivot][i]))
                pivot = j;
        for (int k = 0; k <= n; k++) {
            double swap = a[i][k];
            a[i][k] = a[pivot][k];
            a[pivot][k] = swap;
        }
        for (int j = i + 1; j < n; j++)
            for (int k = n; k >= i; k--)
                a[j][k] -= a[i][k] * a[j][i] / a[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        w[i] = a[i][n];
        for (int k = i + 1; k < n; k++)
            w[i] -= a[i][k] * w[k];
        w[i] /= a[i][i];
    }
}

int main(int argc, char **argv) {
    double a[MOST][MOST + 1] = {{0}}, w[MOST], x, y, error = 0;
    int terms = argc > 4 ? atoi(argv[1]) + 1 : 0;
    long count = 0;
    if (terms < 1 || terms > MOST) {
        fprintf(stderr, "usage: fit DEGREE TRAINING-ROWS VALIDATION-ROWS MODEL\n");
        return 2;
    }
    FILE *file = rows(argv[2]);
    while (fscanf(file, "%lf,%lf", &x, &y) == 2)
        for (int i = 0; i < terms; i++) {
            for (int j = 0; j < terms; j++)
                a[i][j] += pow(x, i + j);
            a[i][terms] += y * pow(x, i);
        }
    fclose(file);
    solve(a, terms, w);
    FILE *model = fopen(argv[4], "w");
    for (int i = 0; model && i < terms; i++)
        fprintf(model, "%.17g\n", w[i]);
    if (!model || fclose(model)) {
        perror(argv[4]);
        return 1;
    }
    for (file = rows(argv[3]); fscanf(file, "%lf,%lf", &x, &y) == 2; count++)
        error += (y - value(w, terms, x)) * (y - value(w, terms, x));
    printf("{\"score\": %.9g, \"rows_scored\": %ld, \"model\": \"model.txt\"}\n", sqrt(error / count), count);
    return 0;
}
