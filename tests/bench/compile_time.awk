# Rows "KERNEL ms ms .." to an SVG with logarithmic axes; sizes: the numbers of elements a thread;
# date: of the measurement.
function x(size) { return 60 + 40 * log(size) / log(2) }
function y(ms) { return 330 - 30 * log(ms < 1 ? 1 : ms) / log(2) }
BEGIN {
   n = split(sizes, size, " ")
   split("#1f77b4 #ff7f0e #2ca02c #d62728 #9467bd #8c564b #17becf", color, " ")
   print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 600 380\" font-family=\"sans-serif\" font-size=\"12\">"
   print "<rect width=\"600\" height=\"380\" fill=\"white\"/>"
   for (i = 1; i <= n; i++) {
      printf "<path d=\"M%.0f 30V330\" stroke=\"#ddd\"/>", x(size[i])
      printf "<text x=\"%.0f\" y=\"348\" text-anchor=\"middle\">%d</text>\n", x(size[i]), size[i]
   }
   for (ms = 1; ms <= 1024; ms *= 4) {
      printf "<path d=\"M60 %.0fH%.0f\" stroke=\"#ddd\"/>", y(ms), x(size[n])
      printf "<text x=\"52\" y=\"%.0f\" text-anchor=\"end\">%d</text>\n", y(ms) + 4, ms
   }
   printf "<path d=\"M%.0f %.0fL%.0f %.0f\" stroke=\"#999\" stroke-dasharray=\"5 4\"/>", x(32), y(4), x(1024), y(128)
   printf "<text x=\"%.0f\" y=\"%.0f\" fill=\"#777\">linear</text>\n", x(1024) + 6, y(128) + 4
   print "<text x=\"250\" y=\"370\" text-anchor=\"middle\">elements a thread</text>"
   print "<text x=\"60\" y=\"20\">ms of processor time, source to PTX; x86-64 server core, " date "</text>"
}
{
   points = ""
   for (i = 1; i <= n; i++)
      points = points sprintf("%.1f,%.1f ", x(size[i]), y($(i + 1)))
   printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", points, color[NR]
   printf "<text x=\"510\" y=\"%d\" fill=\"%s\">%s</text>\n", 40 + 16 * NR, color[NR], $1
}
END { print "</svg>" }
