#!/bin/sh
# Gives a node of Galera that joins the state of another one, by copying its files: both are on this host and belong to the same
# user. MariaDB runs it on both sides, see sql/wsrep_sst.cc for what it says and hears.
set -eu
bypass= server=
while [ $# -gt 0 ]; do
  case $1 in
    --role) role=$2; shift ;;
    --address) address=$2; shift ;;
    --datadir) datadir=${2%/}; shift ;;
    --gtid) gtid=$2; shift ;;
    --gtid-domain-id) domain=$2; shift ;;
    --parent) server=$2; shift ;;
    --bypass) bypass=1 ;;
    --mysqld-args) break ;;
  esac
  shift
done

# One that was killed leaves this script alone. It tells its process id only to the joiner's.
[ -n "$server" ] || server=$(cat "$datadir/../server.pid")
wait_for() {
  until [ -e "$1" ]; do
    kill -0 "$server" && [ ! -e "$datadir/sst_error" ] || exit 1
    sleep 0.05
  done
}

if [ "$role" = joiner ]; then
  rm -f "$datadir/transferred" "$datadir/sst_error"
  echo "ready $datadir"
  wait_for "$datadir/transferred"
  cat "$datadir/transferred"
  rm "$datadir/transferred"
  exit
fi

state="$gtid ${domain:-}"
if [ -z "$bypass" ]; then
  rm -f "$datadir/tables_flushed" "$datadir/sst_error"
  echo 'flush tables'
  wait_for "$datadir/tables_flushed"
  state=$(head -n 1 "$datadir/tables_flushed")
  rm "$datadir/tables_flushed"
  # The provider of each node keeps these three open.
  find "$address" -mindepth 1 ! -name galera.cache ! -name grastate.dat ! -name gvwstate.dat -delete
  tar -C "$datadir" -c --exclude=./galera.cache --exclude=./grastate.dat --exclude=./gvwstate.dat . | tar -C "$address" -x
fi
echo continue
echo "$state" >"$address/transferred.part"
mv "$address/transferred.part" "$address/transferred"
echo "done $state"
