# Nearest centroid: the class is that of the nearest mean. usage: awk -f centroid.awk TRAINING-ROWS VALIDATION-ROWS
BEGIN { FS = "," }
FNR == 1 { file++; next }
file == 1 { n[$NF]++; for (i = 1; i < NF; i++) sum[$NF, i] += $i; next }
{
    best = ""
    for (class in n) {
        distance = 0
        for (i = 1; i < NF; i++) distance += ($i - sum[class, i] / n[class]) ^ 2
        if (best == "" || distance < least) { best = class; least = distance }
    }
    right += best == $NF; m++
}
END { printf "{\"score\": %.6f, \"rows_scored\": %d}\n", right / m, m }
